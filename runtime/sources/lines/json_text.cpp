#include "runtime/sources/lines/json_text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

namespace leat {

namespace {

void append_code_point(std::uint32_t x, std::string& to) {
  const auto six_bits = [&](unsigned shift) {
    return static_cast<char>(0x80U | ((x >> shift) & 0x3FU));
  };
  if (x < 0x80)
    to += static_cast<char>(x);
  else if (x < 0x800)
    to += {static_cast<char>(0xC0U | (x >> 6U)), six_bits(0)};
  else if (x < 0x10000)
    to += {static_cast<char>(0xE0U | (x >> 12U)), six_bits(6), six_bits(0)};
  else
    to += {static_cast<char>(0xF0U | (x >> 18U)), six_bits(12), six_bits(6), six_bits(0)};
}

/// Four hexadecimal digits at the beginning, which are removed.
std::optional<std::uint32_t> take_unit(std::string_view& text) {
  constexpr std::size_t digits = 4;
  std::uint32_t unit = 0;
  if (text.size() < digits)
    return {};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + digits, unit, 16);
  if (failure != std::errc{} || end != text.data() + digits)
    return {};
  text.remove_prefix(digits);
  return unit;
}

/// After "\u": one code point, of two escapes if it is beyond 16 bits.
bool append_escaped_units(std::string_view& text, std::string& to) {
  const auto first = take_unit(text);
  if (!first || (*first >= 0xDC00 && *first < 0xE000))
    return false;
  if (*first < 0xD800 || *first >= 0xE000) {
    append_code_point(*first, to);
    return true;
  }
  if (!text.starts_with("\\u"))
    return false;
  text.remove_prefix(2);
  const auto second = take_unit(text);
  if (!second || *second < 0xDC00 || *second >= 0xE000)
    return false;
  append_code_point(0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00), to);
  return true;
}

} // namespace

bool append_json_text(std::string_view escaped, std::string& to) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  for (;;) {
    const auto before = escaped.find('\\');
    to += escaped.substr(0, before);
    if (before == std::string_view::npos)
      return true;
    escaped.remove_prefix(before + 1);
    if (escaped.empty())
      return false;
    const char letter = escaped.front();
    escaped.remove_prefix(1);
    if (letter == 'u') {
      if (!append_escaped_units(escaped, to))
        return false;
    } else if (const auto which = letters.find(letter); which != std::string_view::npos) {
      to += meanings[which];
    } else {
      return false;
    }
  }
}

} // namespace leat
