#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace leat {

/// The shortest text that reads back as the same number.
template <class T>
std::string number_text(T x) {
  char buffer[32];
  return {buffer, std::to_chars(std::begin(buffer), std::end(buffer), x).ptr};
}

/// Appends the decimal digits of a number.
inline void append_number(std::string& to, std::uint64_t x) {
  char digits[20];
  const auto* end = std::to_chars(std::begin(digits), std::end(digits), x).ptr;
  to.append(digits, static_cast<std::size_t>(end - digits));
}

/// Reads a whole text of digits, with an optional point and exponent, as std::from_chars does: the
/// nearest float64, infinity above the largest, and zero if that is nearest. False for any other
/// text, also for one with a sign.
bool read_decimal(std::string_view digits, double& into) noexcept;

} // namespace leat
