#include "runtime/pipeline/functions/bounds.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/functions/text_counts.hpp"

#include <leat/functions.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace leat {

namespace {

using predicate = std::function<bool(sample&)>;

/// The nearest double; 0 for a part of nothing.
double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// A bound of a share, by its name.
struct share_bound {
  const char* name;
  std::optional<double> value;
};

/// Refuses shares that nothing or everything lies within. " max_digits=0.2", without those that
/// were not given.
template <std::size_t N>
std::string words_of_shares(const char* function, const std::array<share_bound, N>& all) {
  std::string text;
  for (const auto& x : all) {
    if (x.value && !(*x.value >= 0 && *x.value <= 1))
      refuse_argument(function, std::string{x.name} + "=" + number_text(*x.value),
                      "a share: 0 to 1");
    text += word_if(x.name, x.value);
  }
  return text;
}

std::string shares_text(const char* function, const text_quality_options& x) {
  return words_of_shares(
      function, std::array<share_bound, 8>{{{"min_letters", x.min_letters},
                                            {"max_digits", x.max_digits},
                                            {"max_symbols", x.max_symbols},
                                            {"min_words_with_letters", x.min_words_with_letters},
                                            {"max_repeated_lines", x.max_repeated_lines},
                                            {"min_ended_lines", x.min_ended_lines},
                                            {"max_bullet_lines", x.max_bullet_lines},
                                            {"max_ellipsis_lines", x.max_ellipsis_lines}}});
}

/// Bounds that have names of their own.
template <class T>
std::string words_of_bounds(const char* function, const std::string& of, std::optional<T> min,
                            std::optional<T> max) {
  const bounds<T> checked{function, min, max};
  return word_if("min_" + of, min) + word_if("max_" + of, max);
}

bool has_at_least(std::optional<double> least, std::uint64_t part, std::uint64_t whole) {
  return !least || ratio(part, whole) >= *least;
}
bool has_at_most(std::optional<double> most, std::uint64_t part, std::uint64_t whole) {
  return !most || ratio(part, whole) <= *most;
}

bool is_within(const text_quality_options& x, const text_counts& of) {
  return of.words >= x.min_words.value_or(0) && of.words <= x.max_words.value_or(UINT64_MAX)
         && has_at_least(x.min_word_length, of.characters, of.words)
         && has_at_most(x.max_word_length, of.characters, of.words)
         && has_at_least(x.min_letters, of.letters, of.characters)
         && has_at_most(x.max_digits, of.digits, of.characters)
         && has_at_most(x.max_symbols, of.symbols, of.characters)
         && has_at_least(x.min_words_with_letters, of.words_with_letters, of.words)
         && has_at_most(x.max_repeated_lines, of.repeated_lines, of.lines)
         && has_at_least(x.min_ended_lines, of.ended_lines, of.lines)
         && has_at_most(x.max_bullet_lines, of.bullet_lines, of.lines)
         && has_at_most(x.max_ellipsis_lines, of.ellipsis_lines, of.lines);
}

} // namespace

filter_stage text_quality(const std::string& field, const text_quality_options& options) {
  constexpr auto name = "text_quality@1";
  check_field_name(name, field);
  const auto text =
      words_of_bounds(name, "words", options.min_words, options.max_words)
      + words_of_bounds(name, "word_length", options.min_word_length, options.max_word_length)
      + shares_text(name, options);
  if (text.empty())
    refuse_argument(name, "no bounds", "at least one");
  return {.name = name,
          .parameters = word("field", field) + text,
          .make = everywhere<predicate>(
              [=](sample& x) { return is_within(options, count_text(text_of(x, field))); })};
}

} // namespace leat
