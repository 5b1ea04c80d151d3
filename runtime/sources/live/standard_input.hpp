#pragma once

#include "runtime/sources/live/once_input.hpp"

#include <memory>

namespace leat {

/// Lines of file descriptor 0. One in a process.
std::shared_ptr<once_input> standard_input_lines();

} // namespace leat
