#pragma once

#include "runtime/network/local_interface.hpp"

#include <vector>

namespace leat {

/// The addresses of this machine's interfaces that are up, in the system's order. Throws `errc::io`
/// or `errc::no_resources`.
std::vector<interface_address> read_machine_interfaces();

} // namespace leat
