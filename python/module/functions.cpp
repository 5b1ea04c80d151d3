#include <leat/functions.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

namespace leat::python {

namespace {

void bind_text_predicates(nb::module_& m) {
  m.def(
      "length_between",
      [](const std::string& field, std::optional<std::uint64_t> min,
         std::optional<std::uint64_t> max) {
        return filter_value{length_between(field, min, max)};
      },
      "field"_a, "min"_a = nb::none(), "max"_a = nb::none(),
      "Keeps samples whose field, of rank 1 or bytes, has a number of elements within these "
      "bounds.");
  using count = std::optional<std::uint64_t>;
  using number = std::optional<double>;
  m.def(
      "text_quality",
      [](const std::string& field, count min_words, count max_words, number min_word_length,
         number max_word_length, number min_letters, number max_digits, number max_symbols,
         number min_words_with_letters, number max_repeated_lines, number min_ended_lines,
         number max_bullet_lines, number max_ellipsis_lines) {
        return filter_value{text_quality(
            field, {min_words, max_words, min_word_length, max_word_length, min_letters, max_digits,
                    max_symbols, min_words_with_letters, max_repeated_lines, min_ended_lines,
                    max_bullet_lines, max_ellipsis_lines})};
      },
      "field"_a, nb::kw_only(), "min_words"_a = nb::none(), "max_words"_a = nb::none(),
      "min_word_length"_a = nb::none(), "max_word_length"_a = nb::none(),
      "min_letters"_a = nb::none(), "max_digits"_a = nb::none(), "max_symbols"_a = nb::none(),
      "min_words_with_letters"_a = nb::none(), "max_repeated_lines"_a = nb::none(),
      "min_ended_lines"_a = nb::none(), "max_bullet_lines"_a = nb::none(),
      "max_ellipsis_lines"_a = nb::none(),
      "Keeps samples whose text is within all these bounds: numbers of words, their mean length, "
      "and shares, from 0 to 1, of characters, words and lines.");
  m.def(
      "matches",
      [](const std::string& field, const std::string& pattern, bool whole, bool invert) {
        return filter_value{matches(field, pattern, {whole, invert})};
      },
      "field"_a, "pattern"_a, nb::kw_only(), "whole"_a = false, "invert"_a = false,
      "Keeps samples whose text matches a regular expression of RE2: any part of it, or the "
      "`whole` "
      "text. `invert` keeps the others.");
}

void bind_text_functions(nb::module_& m) {
  m.def(
      "add_tokens",
      [](const std::string& field, std::vector<std::int64_t> begin, std::vector<std::int64_t> end) {
        return map_value{add_tokens(field, std::move(begin), std::move(end))};
      },
      "field"_a, "begin"_a = std::vector<std::int64_t>{}, "end"_a = std::vector<std::int64_t>{},
      "A map that puts elements before and after those of a field of rank 1 or bytes.");
  m.def(
      "default_field",
      [](const std::string& field, std::variant<bool, std::int64_t, double, std::string> value) {
        return map_value{default_field(field, std::move(value))};
      },
      "field"_a, "value"_a,
      "A map that sets a field where a sample lacks it, as json_lines would have set this value.");
  m.def(
      "loss_mask",
      [](const std::string& field, std::vector<std::int64_t> begin, std::vector<std::int64_t> end,
         bool include_end, std::string into) {
        return map_value{
            loss_mask(field, {std::move(begin), std::move(end), include_end, std::move(into)})};
      },
      "field"_a, "begin"_a, "end"_a = std::vector<std::int64_t>{}, nb::kw_only(),
      "include_end"_a = true, "into"_a = "loss_mask",
      "A map that sets `into`, uint8: 1 for the elements of `field` from after the tokens `begin` "
      "to "
      "the tokens `end`, 0 for all others.");
  m.def(
      "normalize_text",
      [](const std::string& field, white_space spaces, bool trim, bool line_ends, bool control,
         bool lower, unicode_form unicode) {
        return map_value{normalize_text(field, {spaces, trim, line_ends, control, lower, unicode})};
      },
      "field"_a, nb::kw_only(), "spaces"_a = white_space::lines, "trim"_a = true,
      "line_ends"_a = true, "control"_a = true, "lower"_a = false, "unicode"_a = unicode_form::keep,
      "A map that normalizes a text's characters (`unicode`: 'nfc', 'nfd', 'nfkc' or 'nfkd'), "
      "white "
      "space, line ends, control characters and ASCII letters.");
  m.def(
      "sentencepiece",
      [](const path_text& model, std::string field, std::string into, bool keep_text, bool begin,
         bool end) {
        return map_value{
            sentencepiece(model, {std::move(field), std::move(into), keep_text, begin, end})};
      },
      "model"_a, "field"_a = "text", "into"_a = "tokens", nb::kw_only(), "keep_text"_a = false,
      "begin"_a = false, "end"_a = false,
      "A map that sets `into`, int32, ragged, to the tokens of a text, by a model that "
      "SentencePiece "
      "wrote.");
  bind_text_predicates(m);
}

} // namespace

void bind_functions(nb::module_& m) {
  m.def(
      "select",
      [](std::vector<std::string> fields) { return map_value{leat::select(std::move(fields))}; },
      "fields"_a, "A map that keeps these fields, in this order.");
  m.def(
      "rename",
      [](std::string from, std::string to) {
        return map_value{leat::rename(std::move(from), std::move(to))};
      },
      "from_"_a, "to"_a, "A map that gives a field another name.");
  m.def(
      "ragged", [](const std::string& field) { return map_value{ragged(field)}; }, "field"_a,
      "A map that makes a tensor ragged: its outermost dimension may differ in every sample.");
  m.def(
      "cast", [](const std::string& field, dtype type) { return map_value{cast(field, type)}; },
      "field"_a, "dtype"_a,
      "A map that makes a field's elements those of another type: integers exactly, floats the "
      "nearest ones.");
  m.def(
      "truncate",
      [](const std::string& field, std::uint64_t length) {
        return map_value{truncate(field, length)};
      },
      "field"_a, "length"_a,
      "A map that keeps the first `length` elements of a field, and cuts no character of UTF-8.");
  m.def(
      "drop_fields",
      [](std::vector<std::string> fields) { return map_value{drop_fields(std::move(fields))}; },
      "fields"_a, "A map that removes these fields, where a sample has them.");
  m.def(
      "concat_fields",
      [](std::vector<std::string> fields, const std::string& into,
         std::optional<std::uint64_t> between) {
        return map_value{concat_fields(std::move(fields), into, between)};
      },
      "fields"_a, "into"_a, "between"_a = nb::none(),
      "A map that sets `into` to the elements of these fields, one field after the other, with one "
      "element `between` them if that is given: 10 for a line feed, or a token.");
  bind_text_functions(m);
  m.def(
      "key_hash",
      [](std::uint64_t keep, std::uint64_t salt) { return filter_value{key_hash(keep, salt)}; },
      "keep"_a, "salt"_a = 0, "Keeps about `keep` percent of the samples, by a hash of their ids.");
  m.def(
      "key_matches",
      [](std::string pattern, bool invert) {
        return filter_value{key_matches(std::move(pattern), invert)};
      },
      "pattern"_a, nb::kw_only(), "invert"_a = false,
      "Keeps samples whose ids match a pattern of *, ? and [a-z]; with `invert` the others.");
  m.def(
      "field_hash",
      [](const std::string& field, std::uint64_t keep, std::uint64_t salt) {
        return filter_value{field_hash(field, keep, salt)};
      },
      "field"_a, "keep"_a, "salt"_a = 0, "As key_hash, by a hash of the field's bytes.");
  m.def(
      "field_between",
      [](const std::string& field, std::optional<double> min, std::optional<double> max) {
        return filter_value{field_between(field, min, max)};
      },
      "field"_a, "min"_a = nb::none(), "max"_a = nb::none(),
      "Keeps samples whose field is a number within these bounds, both inclusive.");
  m.def(
      "bytes_between",
      [](const std::string& field, std::optional<std::uint64_t> min,
         std::optional<std::uint64_t> max) { return filter_value{bytes_between(field, min, max)}; },
      "field"_a, "min"_a = nb::none(), "max"_a = nb::none(),
      "Keeps samples whose field has a number of bytes within these bounds.");
  m.def(
      "copies", [](std::uint64_t n) { return flat_map_value{copies(n)}; }, "n"_a,
      "Each sample n times.");
  m.def(
      "split",
      [](const std::string& field, std::uint64_t at) { return flat_map_value{split(field, at)}; },
      "field"_a, "at"_a = std::uint64_t{'\n'}, "The parts of a field between bytes of value `at`.");
  m.def(
      "windows",
      [](const std::string& field, std::uint64_t length) {
        return flat_map_value{windows(field, length)};
      },
      "field"_a, "length"_a, "A field in pieces of `length` elements; the last may be shorter.");
  m.def(
      "chunks",
      [](const std::string& field, std::uint64_t length, std::uint64_t overlap) {
        return flat_map_value{chunks(field, length, overlap)};
      },
      "field"_a, "length"_a, "overlap"_a = 0,
      "A field in pieces of `length` elements, each of which begins `overlap` elements before the "
      "end of the one before it; the last may be shorter.");
  m.def(
      "running_count", [](const std::string& into) { return scan_value{running_count(into)}; },
      "into"_a, "Sets `into`: how many samples came before, in the lane and epoch.");
  m.def(
      "running_sum",
      [](const std::string& field, const std::string& into) {
        return scan_value{running_sum(field, into)};
      },
      "field"_a, "into"_a, "Sets `into`: the sum over `field` of all samples up to this one.");
}

} // namespace leat::python
