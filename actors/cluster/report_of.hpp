#pragma once

#include "messages/cluster/status.hpp"

#include <leat/cluster_report.hpp>

#include <string>

namespace leat {

/// Translates the answer of a coordinator at this address into the public interface's report.
cluster_report report_of(const std::string& address, const cluster_status& x);

} // namespace leat
