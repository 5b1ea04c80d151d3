#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace leat {

/// Shortest text that reads back as the same number.
template <class T>
std::string number_text(T x) {
  char buffer[32];
  return {buffer, std::to_chars(std::begin(buffer), std::end(buffer), x).ptr};
}

/// Appends its decimal digits.
inline void append_number(std::string& to, std::uint64_t x) {
  char digits[20];
  const auto* end = std::to_chars(std::begin(digits), std::end(digits), x).ptr;
  to.append(digits, static_cast<std::size_t>(end - digits));
}

/// Reads digits with a point at most and an exponent, as std::from_chars does, and all of the text:
/// the nearest float64, infinity beyond the largest, and zero where that is nearest. False for
/// other text, also for one with a sign.
bool read_decimal(std::string_view digits, double& into) noexcept;

} // namespace leat
