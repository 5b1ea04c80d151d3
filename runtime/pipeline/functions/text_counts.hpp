#pragma once

#include <cstdint>
#include <string_view>

namespace leat {

/// Space, tab, line feed, vertical tab, form feed, carriage return.
inline bool is_white_space(char x) noexcept {
  return x == ' ' || (x >= '\t' && x <= '\r');
}

inline std::string_view without_outer_space(std::string_view text) noexcept {
  while (!text.empty() && is_white_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_white_space(text.back()))
    text.remove_suffix(1);
  return text;
}

/// What `text_quality` counts in a text (docs/iterators.md). A character is a byte that is neither
/// white space nor a continuation byte of UTF-8; a word a run of bytes without white space; a line
/// what stands between line feeds, without white space at its ends, if that leaves any.
struct text_counts {
  std::uint64_t characters = 0;
  std::uint64_t letters = 0;
  std::uint64_t digits = 0;
  std::uint64_t symbols = 0;
  std::uint64_t words = 0;
  std::uint64_t words_with_letters = 0;
  std::uint64_t lines = 0;
  std::uint64_t repeated_lines = 0;
  std::uint64_t ended_lines = 0;
  std::uint64_t bullet_lines = 0;
  std::uint64_t ellipsis_lines = 0;
};

text_counts count_text(std::string_view text);

} // namespace leat
