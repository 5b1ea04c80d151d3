#pragma once

#include <string_view>

namespace leat {

/// What the package tokenizers reads of a number with a point or an exponent, as JSON has it: often
/// the last bit is another one than that of the nearest double. Infinite where it is too large.
double number_of_package(std::string_view text);

} // namespace leat
