#pragma once

#include "runtime/sources/live/once_input.hpp"

#include <memory>

namespace leat {

/// The lines of file descriptor 0. There is one such input per process.
std::shared_ptr<once_input> standard_input_lines();

} // namespace leat
