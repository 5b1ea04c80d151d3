#include "runtime/base/text.hpp"

#include "runtime/base/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace leat {

namespace {

void append_byte_escape(char byte, std::string& to) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  to += "\\x";
  to += digits[value >> 4];
  to += digits[value & 15];
}

/// Appends one character, or one byte that is not part of a character, escaped where needed.
/// Returns how many bytes of `text` that was.
std::size_t append_quoted(std::string_view text, std::string& to) {
  const char x = text.front();
  if (x == '"' || x == '\\')
    (to += '\\') += x;
  else if (x == '\n')
    to += "\\n";
  else if (x == '\t')
    to += "\\t";
  else if (const auto n = utf8_length(text);
           n == 0 || static_cast<unsigned char>(x) < ' ' || x == 0x7f)
    append_byte_escape(x, to);
  else
    return to += text.substr(0, n), n;
  return 1;
}

/// The letter that follows the backslash in JSON; 0 if the character has no such escape.
char escape_of(char x) {
  switch (x) {
  case '"':
  case '\\':
    return x;
  case '\b':
    return 'b';
  case '\f':
    return 'f';
  case '\n':
    return 'n';
  case '\r':
    return 'r';
  case '\t':
    return 't';
  default:
    return 0;
  }
}

} // namespace

bool is_word(std::string_view text) {
  return !text.empty() && !is_digit(text.front())
         && std::all_of(text.begin(), text.end(), is_word_char);
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  while (!text.empty())
    text.remove_prefix(append_quoted(text, result));
  return result + '"';
}

bool is_blank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), is_line_space);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 40;
  return text.size() <= most ? in_quotes(text) : in_quotes(text.substr(0, most)) + "...";
}

std::string first_of(const std::vector<std::string>& names) {
  if (names.size() < 2)
    return names.empty() ? std::string{} : names.front();
  return names.front() + " and " + std::to_string(names.size() - 1) + " more";
}

std::string counted(std::uint64_t n, const std::string& one) {
  return std::to_string(n) + ' ' + one + (n == 1 ? "" : "s");
}

std::string json_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto n = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (n == 0) {
      result += "\xef\xbf\xbd";
    } else if (const auto escape = escape_of(text[0]); escape != 0) {
      result += {'\\', escape};
    } else if (c < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", c);
      result += code.data();
    } else {
      result += text.substr(0, n);
    }
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return result;
}

} // namespace leat
