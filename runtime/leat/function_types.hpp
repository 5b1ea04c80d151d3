#pragma once

#include <leat/functions.hpp>
#include <leat/image.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

// leat's own functions, a value each: from it follow how texts of pipelines have the function, its
// Python function, and how docs/operators lists it. For bindings of other languages. Programs call
// the functions of <leat/functions.hpp> and <leat/image.hpp>.

namespace leat {

/// How the text of a pipeline has a parameter.
enum class parameter_form : std::uint8_t {
  /// As it is.
  plain,
  /// As it is: the name of a field, without spaces and commas.
  field,
  /// With %HH for any byte, since spaces part words.
  percent,
  /// Only where it is not the preset: older texts have no such word, and stay as they are.
  if_changed,
};

/// What a number may be, both inclusive, and the words for it.
struct parameter_range {
  double lowest = 0;
  double highest = 0;
  /// Null: any number is good.
  const char* needed = nullptr;
};

/// A parameter of a function. One that is not required has a preset.
template <class T, bool Required>
struct function_parameter {
  using type = T;
  static constexpr bool is_required = Required;

  const char* name;
  T preset = {};
  parameter_form form = parameter_form::plain;
  parameter_range range = {};
};

template <class T>
using required_parameter = function_parameter<T, true>;
template <class T>
using preset_parameter = function_parameter<T, false>;

/// A function: `make` takes the values of all parameters. In Python the first `Positional` ones may
/// be given without their names.
template <std::size_t Positional, class Make, class... Parameter>
struct function_type {
  /// "pad@1"
  const char* name;
  const char* about;
  Make make;
  std::tuple<Parameter...> parameters;
};

template <std::size_t Positional, class Make, class... Parameter>
function_type<Positional, Make, Parameter...>
describe_function(const char* name, const char* about, Make make, Parameter... parameters) {
  return {name, about, std::move(make), {std::move(parameters)...}};
}

namespace function_types {

using text = required_parameter<std::string>;
using texts = required_parameter<std::vector<std::string>>;
using whole = required_parameter<std::uint64_t>;
using preset_whole = preset_parameter<std::uint64_t>;
using flag = preset_parameter<bool>;
using tokens = std::vector<std::int64_t>;
/// A bound, or whatever else may be left out.
using maybe_whole = preset_parameter<std::optional<std::uint64_t>>;
using maybe_number = preset_parameter<std::optional<double>>;

inline text field(const char* name = "field") {
  return {name, {}, parameter_form::field};
}

inline whole length() {
  return {"length", {}, {}, {1, std::numeric_limits<double>::infinity(), "at least 1"}};
}

inline whole percentage() {
  return {"keep", {}, {}, {0, 100, "a percentage: 0 to 100"}};
}

inline maybe_number share(const char* name) {
  return {name, {}, {}, {0, 1, "a share: 0 to 1"}};
}

// -- maps

inline auto select() {
  return describe_function<1>("select@1", "A map that keeps these fields, in this order.",
                              &leat::select, texts{"fields"});
}

inline auto rename() {
  return describe_function<2>("rename@1", "A map that gives a field another name.", &leat::rename,
                              field("from"), field("to"));
}

inline auto ragged() {
  return describe_function<1>(
      "ragged@1",
      "A map that makes a tensor ragged: its outermost dimension may differ in every sample.",
      &leat::ragged, field());
}

inline auto cast() {
  return describe_function<2>(
      "cast@1",
      "A map that makes a field's elements those of another type: integers exactly, floats the "
      "nearest ones.",
      &leat::cast, field(), required_parameter<dtype>{"dtype"});
}

inline auto pad() {
  return describe_function<3>(
      "pad@1",
      "A map that fills a field, of rank 1 or bytes, up to `length` elements with `value`.",
      [](const std::string& field, std::uint64_t length, double value) {
        return leat::pad(field, length, value);
      },
      field(), whole{"length", {}, {}, {0, 2147483647, "at most 2147483647"}},
      preset_parameter<double>{"value"});
}

inline auto truncate() {
  return describe_function<2>(
      "truncate@1",
      "A map that keeps the first `length` elements of a field, and cuts no character of UTF-8.",
      &leat::truncate, field(), length());
}

inline auto drop_fields() {
  return describe_function<1>("drop_fields@1",
                              "A map that removes these fields, where a sample has them.",
                              &leat::drop_fields, texts{"fields"});
}

inline auto concat_fields() {
  return describe_function<3>(
      "concat_fields@1",
      "A map that sets `into` to the elements of these fields, one field after the other, with one "
      "element `between` them if that is given: 10 for a line feed, or a token.",
      &leat::concat_fields, texts{"fields"}, field("into"), maybe_whole{"between"});
}

inline auto add_tokens() {
  return describe_function<3>(
      "add_tokens@1",
      "A map that puts elements before and after those of a field of rank 1 or bytes.",
      &leat::add_tokens, field(), preset_parameter<tokens>{"begin"},
      preset_parameter<tokens>{"end"});
}

inline auto default_field() {
  using value = std::variant<bool, std::int64_t, double, std::string>;
  return describe_function<2>(
      "default_field@1",
      "A map that sets a field where a sample lacks it, as json_lines would have set this value.",
      &leat::default_field, field(), required_parameter<value>{"value"});
}

inline auto loss_mask() {
  return describe_function<3>(
      "loss_mask@1",
      "A map that sets `into`, uint8: 1 for the elements of `field` from after the tokens `begin` "
      "to the tokens `end`, 0 for all others.",
      [](const std::string& field, tokens begin, tokens end, bool include_end, std::string into) {
        return leat::loss_mask(field,
                               {std::move(begin), std::move(end), include_end, std::move(into)});
      },
      field(), required_parameter<tokens>{"begin"}, preset_parameter<tokens>{"end"},
      flag{"include_end", true},
      preset_parameter<std::string>{"into", "loss_mask", parameter_form::field});
}

inline auto normalize_text() {
  return describe_function<1>(
      "normalize_text@1",
      "A map that normalizes a text's characters (`unicode`: 'nfc', 'nfd', 'nfkc' or 'nfkd'), "
      "white space, line ends, control characters and ASCII letters.",
      [](const std::string& field, white_space spaces, bool trim, bool line_ends, bool control,
         bool lower, unicode_form unicode) {
        return leat::normalize_text(field, {spaces, trim, line_ends, control, lower, unicode});
      },
      field(), preset_parameter<white_space>{"spaces", white_space::lines}, flag{"trim", true},
      flag{"line_ends", true}, flag{"control", true}, flag{"lower"},
      preset_parameter<unicode_form>{"unicode", unicode_form::keep, parameter_form::if_changed});
}

inline auto train_image() {
  const image_options usual;
  using numbers = preset_parameter<std::array<double, 2>>;
  using channels = preset_parameter<std::array<float, 3>>;
  return describe_function<1>(
      "train_image@1", "decode_image with a random crop, mirroring, and normalize for floats.",
      [](const std::string& field, std::size_t size, dtype type, image_layout layout,
         std::array<float, 3> mean, std::array<float, 3> std, std::array<double, 2> scale,
         std::array<double, 2> ratio, double flip, std::size_t max_pixels, bool exact) {
        return leat::train_image(
            field, {size, type, layout, mean, std, scale, ratio, flip, 0, max_pixels, exact});
      },
      text{"field"}, preset_parameter<std::size_t>{"size", usual.size},
      preset_parameter<dtype>{"dtype", usual.type},
      preset_parameter<image_layout>{"layout", usual.layout}, channels{"mean", usual.mean},
      channels{"std", usual.std}, numbers{"scale", usual.scale}, numbers{"ratio", usual.ratio},
      preset_parameter<double>{"flip", usual.flip},
      preset_parameter<std::size_t>{"max_pixels", usual.max_pixels}, flag{"exact"});
}

inline auto eval_image() {
  const image_options usual;
  using channels = preset_parameter<std::array<float, 3>>;
  return describe_function<1>(
      "eval_image@1", "decode_image with resize and a central crop, and normalize for floats.",
      [](const std::string& field, std::size_t size, dtype type, image_layout layout,
         std::array<float, 3> mean, std::array<float, 3> std, std::size_t resize,
         std::size_t max_pixels, bool exact) {
        image_options options{
            .size = size, .type = type, .layout = layout, .mean = mean, .std = std};
        options.resize = resize;
        options.max_pixels = max_pixels;
        options.exact = exact;
        return leat::eval_image(field, options);
      },
      text{"field"}, preset_parameter<std::size_t>{"size", usual.size},
      preset_parameter<dtype>{"dtype", usual.type},
      preset_parameter<image_layout>{"layout", usual.layout}, channels{"mean", usual.mean},
      channels{"std", usual.std}, preset_parameter<std::size_t>{"resize", usual.resize},
      preset_parameter<std::size_t>{"max_pixels", usual.max_pixels}, flag{"exact"});
}

inline auto int_label() {
  return describe_function<1>("int_label@1",
                              "Parses a decimal integer from `field` and sets int64 \"label\".",
                              &leat::int_label, text{"field"});
}

/// All maps but decode_image and sentencepiece: a text has the transforms of the one and the hash
/// of the other's model, which no call has in this form.
inline auto maps() {
  return std::tuple{select(),    rename(),         ragged(),        cast(),       pad(),
                    truncate(),  drop_fields(),    concat_fields(), add_tokens(), default_field(),
                    loss_mask(), normalize_text(), train_image(),   eval_image(), int_label()};
}

// -- predicates

inline auto key_hash() {
  return describe_function<2>("key_hash@1",
                              "Keeps about `keep` percent of the samples, by a hash of their ids.",
                              &leat::key_hash, percentage(), preset_whole{"salt"});
}

inline auto key_matches() {
  return describe_function<1>(
      "key_matches@1",
      "Keeps samples whose ids match a pattern of *, ? and [a-z]; with `invert` the others.",
      &leat::key_matches, text{"pattern"}, flag{"invert", false, parameter_form::if_changed});
}

inline auto field_hash() {
  return describe_function<3>("field_hash@1", "As key_hash, by a hash of the field's bytes.",
                              &leat::field_hash, field(), percentage(), preset_whole{"salt"});
}

inline auto field_between() {
  return describe_function<3>(
      "field_between@1",
      "Keeps samples whose field is a number within these bounds, both inclusive.",
      &leat::field_between, field(), maybe_number{"min"}, maybe_number{"max"});
}

inline auto bytes_between() {
  return describe_function<3>(
      "bytes_between@1", "Keeps samples whose field has a number of bytes within these bounds.",
      &leat::bytes_between, field(), maybe_whole{"min"}, maybe_whole{"max"});
}

inline auto length_between() {
  return describe_function<3>(
      "length_between@1",
      "Keeps samples whose field, of rank 1 or bytes, has a number of elements within these "
      "bounds.",
      &leat::length_between, field(), maybe_whole{"min"}, maybe_whole{"max"});
}

inline auto text_quality() {
  using count = std::optional<std::uint64_t>;
  using number = std::optional<double>;
  return describe_function<1>(
      "text_quality@1",
      "Keeps samples whose text is within all these bounds: numbers of words, their mean length, "
      "and shares, from 0 to 1, of characters, words and lines.",
      [](const std::string& field, count min_words, count max_words, number min_word_length,
         number max_word_length, number min_letters, number max_digits, number max_symbols,
         number min_words_with_letters, number max_repeated_lines, number min_ended_lines,
         number max_bullet_lines, number max_ellipsis_lines) {
        return leat::text_quality(field, {min_words, max_words, min_word_length, max_word_length,
                                          min_letters, max_digits, max_symbols,
                                          min_words_with_letters, max_repeated_lines,
                                          min_ended_lines, max_bullet_lines, max_ellipsis_lines});
      },
      field(), maybe_whole{"min_words"}, maybe_whole{"max_words"}, maybe_number{"min_word_length"},
      maybe_number{"max_word_length"}, share("min_letters"), share("max_digits"),
      share("max_symbols"), share("min_words_with_letters"), share("max_repeated_lines"),
      share("min_ended_lines"), share("max_bullet_lines"), share("max_ellipsis_lines"));
}

inline auto matches() {
  return describe_function<2>(
      "matches@1",
      "Keeps samples whose text matches a regular expression of RE2: any part of it, or the "
      "`whole` text. `invert` keeps the others.",
      [](const std::string& field, const std::string& pattern, bool whole, bool invert) {
        return leat::matches(field, pattern, {whole, invert});
      },
      field(), text{"pattern", {}, parameter_form::percent}, flag{"whole"}, flag{"invert"});
}

inline auto predicates() {
  return std::tuple{key_hash(),      key_matches(),    field_hash(),   field_between(),
                    bytes_between(), length_between(), text_quality(), matches()};
}

// -- flat_maps

inline auto copies() {
  return describe_function<1>("copies@1", "Each sample n times.", &leat::copies, whole{"n"});
}

inline auto split() {
  return describe_function<2>(
      "split@1", "The parts of a field between bytes of value `at`.",
      [](const std::string& field, std::uint64_t at) { return leat::split(field, at); }, field(),
      preset_whole{"at", '\n', {}, {0, 255, "a byte: 0 to 255"}});
}

inline auto windows() {
  return describe_function<2>("windows@1",
                              "A field in pieces of `length` elements; the last may be shorter.",
                              &leat::windows, field(), length());
}

inline auto chunks() {
  return describe_function<3>(
      "chunks@1",
      "A field in pieces of `length` elements, each of which begins `overlap` elements before the "
      "end of the one before it; the last may be shorter.",
      &leat::chunks, field(), length(), preset_whole{"overlap"});
}

inline auto flat_maps() {
  return std::tuple{copies(), split(), windows(), chunks()};
}

// -- scans

inline auto running_count() {
  return describe_function<1>("running_count@1",
                              "Sets `into`: how many samples came before, in the lane and epoch.",
                              &leat::running_count, field("into"));
}

inline auto running_sum() {
  return describe_function<2>("running_sum@1",
                              "Sets `into`: the sum over `field` of all samples up to this one.",
                              &leat::running_sum, field(), field("into"));
}

inline auto scans() {
  return std::tuple{running_count(), running_sum()};
}

} // namespace function_types

} // namespace leat
