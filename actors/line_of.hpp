#pragma once

#include "runtime/base/log_lines.hpp"

#include <leat/batch.hpp>

namespace leat {

/// A rank's batch as a line of a log.
batch_line line_of(const batch& x);

} // namespace leat
