#pragma once

#include "runtime/network/address.hpp"
#include "runtime/network/links/wake_event.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>

namespace leat {

/// Connects to the first of a host's addresses that answers, and waits meanwhile, for each of them
/// as long as `patience`; the resolver has its own. `stop` may be null. Throws `errc::cluster`
/// (break_link) with the reason, and `errc::interrupted` once `stop` is set.
file_descriptor dial_socket(const network_address& to, std::chrono::milliseconds patience,
                            const wake_event* stop);

} // namespace leat
