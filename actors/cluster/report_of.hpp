#pragma once

#include "messages/cluster/status.hpp"

#include <leat/cluster_report.hpp>

#include <string>

namespace leat {

/// What a coordinator at this address has answered, in the words of the public interface.
cluster_report report_of(const std::string& address, const cluster_status& x);

} // namespace leat
