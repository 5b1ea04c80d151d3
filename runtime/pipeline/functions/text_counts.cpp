#include "runtime/pipeline/functions/text_counts.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_set>

namespace leat {

namespace {

using namespace std::string_view_literals;

constexpr std::array ends{"."sv,      "!"sv,      "?"sv,      "\""sv,    "\u2026"sv,
                          "\u201d"sv, "\u3002"sv, "\uff01"sv, "\uff1f"sv};
constexpr std::array bullets{"-"sv, "*"sv, "\u2022"sv};
constexpr std::array ellipses{"..."sv, "\u2026"sv};

bool is_letter(char x) {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || static_cast<unsigned char>(x) >= 0x80;
}

bool is_continuation(char x) {
  return (static_cast<unsigned char>(x) >> 6) == 2;
}

void count_characters(std::string_view text, text_counts& to) {
  bool in_word = false;
  bool has_letter = false;
  for (const auto x : text) {
    if (is_white_space(x)) {
      in_word = has_letter = false;
      continue;
    }
    to.words += in_word ? 0 : 1;
    in_word = true;
    const bool letter = is_letter(x);
    to.words_with_letters += letter && !has_letter ? 1 : 0;
    has_letter = has_letter || letter;
    if (is_continuation(x))
      continue;
    ++to.characters;
    to.letters += letter ? 1 : 0;
    to.digits += is_digit(x) ? 1 : 0;
    to.symbols += !letter && !is_digit(x) && x > ' ' && x < 0x7f ? 1 : 0;
  }
}

template <std::size_t N>
bool ends_with(std::string_view line, const std::array<std::string_view, N>& any) {
  return std::any_of(any.begin(), any.end(), [&](auto x) { return line.ends_with(x); });
}

void count_lines(std::string_view text, text_counts& to) {
  std::unordered_set<std::string_view> seen;
  while (!text.empty()) {
    const auto size = std::min(text.find('\n'), text.size());
    const auto line = without_outer_space(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
    if (line.empty())
      continue;
    ++to.lines;
    to.repeated_lines += seen.insert(line).second ? 0 : 1;
    to.ended_lines += ends_with(line, ends) ? 1 : 0;
    to.ellipsis_lines += ends_with(line, ellipses) ? 1 : 0;
    to.bullet_lines +=
        std::any_of(bullets.begin(), bullets.end(), [&](auto x) { return line.starts_with(x); })
            ? 1
            : 0;
  }
}

} // namespace

text_counts count_text(std::string_view text) {
  text_counts counts;
  count_characters(text, counts);
  count_lines(text, counts);
  return counts;
}

} // namespace leat
