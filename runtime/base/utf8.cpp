#include "runtime/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace leat {

namespace {

void append_escaped(unsigned char byte, std::string& to) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  to += "\\x";
  to += digits[byte >> 4];
  to += digits[byte & 15];
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= ' ' && c < 0x80 && c != '\\'; });
}

} // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto lead = byte(0);
  const std::size_t n = lead < 0x80         ? 1
                        : (lead >> 5) == 6  ? 2
                        : (lead >> 4) == 14 ? 3
                        : (lead >> 3) == 30 ? 4
                                            : 0;
  if (n == 0 || n > text.size())
    return 0;
  std::uint32_t code = n == 1 ? lead : lead & (0xffU >> (n + 1));
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) >> 6) != 2)
      return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  // By length: a smaller code in that many bytes is an overlong form, which is not UTF-8.
  constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < smallest[n] || code > 0x10ffff || surrogate ? 0 : n;
}

std::string as_utf8(std::string_view name) {
  if (is_plain(name))
    return std::string{name};
  std::string to;
  while (!name.empty()) {
    const auto bytes = name.substr(0, 2) == "\\x" ? 0 : utf8_length(name);
    if (bytes == 0)
      append_escaped(static_cast<unsigned char>(name[0]), to);
    else
      to += name.substr(0, bytes);
    name.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return to;
}

void make_utf8(std::string& text, std::size_t begin) {
  if (const auto raw = std::string_view{text}.substr(begin); !is_plain(raw))
    text.replace(begin, raw.size(), as_utf8(raw));
}

} // namespace leat
