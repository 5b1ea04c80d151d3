#pragma once

#include "runtime/sources/live/once_input.hpp"

#include <functional>
#include <memory>
#include <string>

namespace leat {

/// Samples that a function of the program makes, one per call; false ends them. `name` has no
/// version.
std::shared_ptr<once_input> function_samples(std::string name, std::function<bool(sample&)> next);

} // namespace leat
