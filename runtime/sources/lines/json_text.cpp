#include "runtime/sources/lines/json_text.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace leat {

namespace {

/// What the letter after a backslash stands for; 0 for none.
constexpr auto meanings = [] {
  std::array<char, 256> table{};
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view what = "\"\\/\b\f\n\r\t";
  for (std::size_t i = 0; i < letters.size(); ++i)
    table[static_cast<unsigned char>(letters[i])] = what[i];
  return table;
}();

constexpr std::uint32_t no_digit = 0x10000;

/// The values of hexadecimal digits.
constexpr auto hex_digits = [] {
  std::array<std::uint32_t, 256> table{};
  table.fill(no_digit);
  for (std::uint32_t i = 0; i < 10; ++i)
    table['0' + i] = i;
  for (std::uint32_t i = 0; i < 6; ++i)
    table['a' + i] = table['A' + i] = 10 + i;
  return table;
}();

/// Copies up to the first backslash. Returns how many bytes come before it.
std::size_t copy_plain(std::string_view from, char* to) noexcept {
  static_assert(std::endian::native == std::endian::little); // the first byte is the lowest
  using block = unsigned char __attribute__((vector_size(16)));
  std::size_t at = 0;
  for (; from.size() - at >= sizeof(block); at += sizeof(block)) {
    block bytes;
    std::memcpy(&bytes, from.data() + at, sizeof bytes);
    std::memcpy(to + at, &bytes, sizeof bytes);
    const auto is_backslash = bytes == static_cast<unsigned char>('\\');
    std::array<std::uint64_t, 2> found;
    std::memcpy(&found, &is_backslash, sizeof found);
    if (found[0] != 0)
      return at + static_cast<std::size_t>(std::countr_zero(found[0])) / 8;
    if (found[1] != 0)
      return at + 8 + static_cast<std::size_t>(std::countr_zero(found[1])) / 8;
  }
  for (; at < from.size() && from[at] != '\\'; ++at)
    to[at] = from[at];
  return at;
}

char* write_code_point(std::uint32_t x, char* to) noexcept {
  const auto six_bits = [&](unsigned shift) {
    return static_cast<char>(0x80U | ((x >> shift) & 0x3FU));
  };
  if (x < 0x80) {
    *to++ = static_cast<char>(x);
    return to;
  }
  if (x < 0x800) {
    *to++ = static_cast<char>(0xC0U | (x >> 6U));
  } else {
    if (x < 0x10000) {
      *to++ = static_cast<char>(0xE0U | (x >> 12U));
    } else {
      *to++ = static_cast<char>(0xF0U | (x >> 18U));
      *to++ = six_bits(12);
    }
    *to++ = six_bits(6);
  }
  *to++ = six_bits(0);
  return to;
}

/// Four hexadecimal digits at the beginning, which are removed.
std::optional<std::uint32_t> take_unit(std::string_view& text) noexcept {
  if (text.size() < 4)
    return {};
  std::uint32_t unit = 0;
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto digit = hex_digits[static_cast<unsigned char>(text[i])];
    unit = (unit << 4U) | digit;
    all |= digit;
  }
  if (all >= no_digit)
    return {};
  text.remove_prefix(4);
  return unit;
}

/// After "\u": one code point, of two escapes if it is beyond 16 bits.
std::optional<std::uint32_t> take_escaped_units(std::string_view& text) noexcept {
  const auto first = take_unit(text);
  if (!first || *first < 0xD800 || *first >= 0xE000)
    return first;
  if (*first >= 0xDC00 || !text.starts_with("\\u"))
    return {};
  text.remove_prefix(2);
  const auto second = take_unit(text);
  if (!second || *second < 0xDC00 || *second >= 0xE000)
    return {};
  return 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00);
}

} // namespace

std::optional<std::size_t> unescape_json_text(std::string_view escaped, char* to) noexcept {
  auto* at = to;
  for (;;) {
    const auto before = copy_plain(escaped, at);
    at += before;
    if (before == escaped.size())
      return static_cast<std::size_t>(at - to);
    escaped.remove_prefix(before + 1);
    if (escaped.empty())
      return {};
    const auto letter = static_cast<unsigned char>(escaped.front());
    escaped.remove_prefix(1);
    if (letter == 'u') {
      const auto code_point = take_escaped_units(escaped);
      if (!code_point)
        return {};
      at = write_code_point(*code_point, at);
    } else if (meanings[letter] != 0) {
      *at++ = meanings[letter];
    } else {
      return {};
    }
  }
}

} // namespace leat
