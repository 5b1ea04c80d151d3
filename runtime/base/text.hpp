#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

inline bool is_digit(char x) noexcept {
  return x >= '0' && x <= '9';
}

/// White space within a line, including the carriage return of a CRLF line end.
inline bool is_line_space(char x) noexcept {
  return x == ' ' || x == '\t' || x == '\r';
}

/// The text without white space at its ends.
inline std::string_view trimmed(std::string_view text) noexcept {
  const auto is_space = [](char x) { return is_line_space(x) || x == '\n'; };
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return text;
}

/// True for a line that is empty or consists of white space.
bool is_blank(std::string_view line) noexcept;

/// An ASCII letter, a digit or `_`.
inline bool is_word_char(char x) noexcept {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || x == '_' || is_digit(x);
}

/// Letters, digits and `_`, not beginning with a digit.
bool is_word(std::string_view text);

/// The text in quotes with escapes, as in the text form of pipelines. Always UTF-8.
std::string in_quotes(std::string_view text);

/// For errors: `in_quotes`, cut after the first 40 bytes.
std::string excerpt(std::string_view text);

/// The text with JSON's escapes, without quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_escaped(std::string_view text);

/// "a.tar and 2 more", for errors; empty for none.
std::string first_of(const std::vector<std::string>& names);

/// What `text_of` says of each: "a, b, c".
template <class Range, std::invocable<typename Range::const_reference> Text>
std::string listed(const Range& all, Text text_of, std::string_view between = ", ") {
  std::string text;
  for (const auto& x : all)
    (text += text.empty() ? "" : between) += text_of(x);
  return text;
}

inline std::string listed(const std::vector<std::string>& all, std::string_view between = ", ") {
  return listed(
      all, [](const auto& x) -> const std::string& { return x; }, between);
}

/// "1 item", "2 items"
std::string counted(std::uint64_t n, const std::string& one);

} // namespace leat
