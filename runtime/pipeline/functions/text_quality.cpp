#include "runtime/pipeline/functions/bounds.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/functions/text_counts.hpp"

#include <leat/functions.hpp>

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
  const auto type = function_types::text_quality();
  const auto& x = options;
  auto text = parameters_of(type, field, x.min_words, x.max_words, x.min_word_length,
                            x.max_word_length, x.min_letters, x.max_digits, x.max_symbols,
                            x.min_words_with_letters, x.max_repeated_lines, x.min_ended_lines,
                            x.max_bullet_lines, x.max_ellipsis_lines);
  (void)bounds<std::uint64_t>{type.name, x.min_words, x.max_words};
  (void)bounds<double>{type.name, x.min_word_length, x.max_word_length};
  if (text == word("field", field))
    refuse_argument(type.name, "no bounds", "at least one");
  return {.name = type.name,
          .parameters = std::move(text),
          .make = everywhere<predicate>(
              [=](sample& s) { return is_within(options, count_text(text_of(s, field))); })};
}

} // namespace leat
