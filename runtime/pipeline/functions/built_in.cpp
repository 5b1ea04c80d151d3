#include "runtime/pipeline/functions/built_in.hpp"

#include "runtime/base/map_parameters.hpp"
#include "runtime/image/pixels/image_chain.hpp"
#include "runtime/pipeline/functions/normal_text_words.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/functions/sentencepiece.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <leat/functions.hpp>
#include <leat/image.hpp>
#include <leat/tensor.hpp>

#include <utility>

namespace leat {

namespace {

/// A text that stands in one word.
std::string plain_text(const parameter_reader& from, const std::string& name,
                       const std::string& value) {
  auto text = text_of_percent(value);
  if (!text)
    from.refuse(name + '=' + value, "%HH for any byte, and so %25 for a percent sign");
  return std::move(*text);
}

// -- maps

image_layout layout_of(const std::string& text, const parameter_reader& from) {
  if (text != "nchw" && text != "nhwc")
    from.refuse("layout=" + text, "nchw or nhwc");
  return text == "nchw" ? image_layout::nchw : image_layout::nhwc;
}

/// The type that Python's functions call dtype; parameters that were written have `type`.
std::optional<std::string> type_in(parameter_reader& from) {
  auto type = from.optional("dtype");
  return type ? type : from.optional("type");
}

/// The options that both short image maps share.
image_options common_options(parameter_reader& from, const std::string& map) {
  image_options x;
  from.read("size", x.size);
  if (const auto type = type_in(from))
    x.type = parse_dtype(*type, map);
  if (const auto layout = from.optional("layout"))
    x.layout = layout_of(*layout, from);
  from.read("mean", x.mean);
  from.read("std", x.std);
  from.read("max_pixels", x.max_pixels);
  from.read("exact", x.exact);
  return x;
}

map_stage make_decode_image(const std::string& parameters) {
  parameter_reader from{"decode_image@1", parameters};
  const auto field = from.required("field");
  const auto transforms = parse_transforms(from.required("transforms"));
  decode_options options;
  from.read("exact", options.exact);
  from.read("max_pixels", options.max_pixels);
  from.done();
  return decode_image(field, transforms, options);
}

map_stage make_train_image(const std::string& parameters) {
  constexpr auto map = "train_image@1";
  parameter_reader from{map, parameters};
  const auto field = from.required("field");
  auto options = common_options(from, map);
  from.read("scale", options.scale);
  from.read("ratio", options.ratio);
  from.read("flip", options.flip);
  from.done();
  return train_image(field, options);
}

map_stage make_eval_image(const std::string& parameters) {
  constexpr auto map = "eval_image@1";
  parameter_reader from{map, parameters};
  const auto field = from.required("field");
  auto options = common_options(from, map);
  from.read("resize", options.resize);
  from.done();
  return eval_image(field, options);
}

map_stage make_int_label(const std::string& parameters) {
  parameter_reader from{"int_label@1", parameters};
  const auto field = from.required("field");
  from.done();
  return int_label(field);
}

map_stage make_select(const std::string& parameters) {
  parameter_reader from{"select@1", parameters};
  const auto fields = from.required("fields");
  from.done();
  return select(split_list(fields));
}

map_stage make_rename(const std::string& parameters) {
  parameter_reader from{"rename@1", parameters};
  auto old_name = from.required("from");
  auto new_name = from.required("to");
  from.done();
  return rename(std::move(old_name), std::move(new_name));
}

map_stage make_pad(const std::string& parameters) {
  parameter_reader from{"pad@1", parameters};
  const auto field = from.required("field");
  const auto length = from.required_number<std::uint64_t>("length");
  double value = 0;
  from.read("value", value);
  from.done();
  return pad(field, length, value);
}

map_stage make_ragged(const std::string& parameters) {
  parameter_reader from{"ragged@1", parameters};
  const auto field = from.required("field");
  from.done();
  return ragged(field);
}

map_stage make_cast(const std::string& parameters) {
  parameter_reader from{"cast@1", parameters};
  const auto field = from.required("field");
  const auto type = type_in(from);
  const auto to = parse_dtype(type ? *type : from.required("type"), "cast@1");
  from.done();
  return cast(field, to);
}

map_stage make_truncate(const std::string& parameters) {
  parameter_reader from{"truncate@1", parameters};
  const auto field = from.required("field");
  const auto length = from.required_number<std::uint64_t>("length");
  from.done();
  return truncate(field, length);
}

map_stage make_drop_fields(const std::string& parameters) {
  parameter_reader from{"drop_fields@1", parameters};
  const auto fields = from.required("fields");
  from.done();
  return drop_fields(split_list(fields));
}

map_stage make_concat_fields(const std::string& parameters) {
  parameter_reader from{"concat_fields@1", parameters};
  const auto fields = from.required("fields");
  const auto into = from.required("into");
  const auto between = from.optional_number<std::uint64_t>("between");
  from.done();
  return concat_fields(split_list(fields), into, between);
}

map_stage make_add_tokens(const std::string& parameters) {
  parameter_reader from{"add_tokens@1", parameters};
  const auto field = from.required("field");
  auto begin = from.numbers<std::int64_t>("begin");
  auto end = from.numbers<std::int64_t>("end");
  from.done();
  return add_tokens(field, std::move(begin), std::move(end));
}

/// The type that a value is most likely meant to have, if none is given: that of a number or flag
/// which reads as one, otherwise bytes.
std::string likely_type(const std::string& value) {
  if (value == "true" || value == "false")
    return "u8";
  if (!is_number(value))
    return "bytes";
  return value.find_first_of(".e") == std::string::npos ? "i64" : "f64";
}

map_stage make_default_field(const std::string& parameters) {
  parameter_reader from{"default_field@1", parameters};
  const auto field = from.required("field");
  auto type = type_in(from);
  const auto value = from.required("value");
  from.done();
  if (!type)
    type = likely_type(value);
  if (*type == "i64")
    return default_field(field, from.number<std::int64_t>("value", value));
  if (*type == "f64")
    return default_field(field, from.number<double>("value", value));
  if (*type == "u8" && (value == "0" || value == "1" || value == "true" || value == "false"))
    return default_field(field, value == "1" || value == "true");
  if (*type == "u8")
    from.refuse("value=" + value, "true or false");
  if (*type != "bytes")
    from.refuse("type=" + *type, "u8, i64, f64 or bytes");
  return default_field(field, plain_text(from, "value", value));
}

map_stage make_loss_mask(const std::string& parameters) {
  parameter_reader from{"loss_mask@1", parameters};
  const auto field = from.required("field");
  loss_mask_options options{.begin = from.numbers<std::int64_t>("begin"),
                            .end = from.numbers<std::int64_t>("end")};
  from.read("include_end", options.include_end);
  options.into = from.optional("into").value_or(options.into);
  from.done();
  return loss_mask(field, std::move(options));
}

/// An option that is one of these words, or nothing.
template <class Enum, std::size_t N>
std::optional<Enum> word_from(parameter_reader& from, const std::string& name,
                              const option_words<Enum, N>& words) {
  const auto given = from.optional(name);
  if (!given)
    return {};
  const auto known = value_of(*given, words);
  if (!known)
    from.refuse(name + '=' + *given, list_of(words));
  return known;
}

map_stage make_normalize_text(const std::string& parameters) {
  parameter_reader from{"normalize_text@1", parameters};
  const auto field = from.required("field");
  normalize_text_options options;
  options.spaces = word_from(from, "spaces", white_spaces).value_or(options.spaces);
  from.read("trim", options.trim);
  from.read("line_ends", options.line_ends);
  from.read("control", options.control);
  from.read("lower", options.lower);
  options.unicode = word_from(from, "unicode", unicode_forms).value_or(options.unicode);
  from.done();
  return normalize_text(field, options);
}

map_stage make_sentencepiece(const std::string& parameters) {
  parameter_reader from{"sentencepiece@1", parameters};
  const auto model = plain_text(from, "model", from.required("model"));
  const auto hash = from.optional("hash");
  sentencepiece_options options;
  options.field = from.optional("field").value_or(options.field);
  options.into = from.optional("into").value_or(options.into);
  from.read("keep_text", options.keep_text);
  from.read("begin", options.begin);
  from.read("end", options.end);
  from.done();
  return sentencepiece_of_hash(model, hash, std::move(options));
}

// -- predicates

filter_stage make_key_hash(const std::string& parameters) {
  parameter_reader from{"key_hash@1", parameters};
  const auto keep = from.required_number<std::uint64_t>("keep");
  std::uint64_t salt = 0;
  from.read("salt", salt);
  from.done();
  return key_hash(keep, salt);
}

filter_stage make_key_matches(const std::string& parameters) {
  parameter_reader from{"key_matches@1", parameters};
  auto pattern = from.required("pattern");
  bool invert = false;
  from.read("invert", invert);
  from.done();
  return key_matches(std::move(pattern), invert);
}

filter_stage make_field_hash(const std::string& parameters) {
  parameter_reader from{"field_hash@1", parameters};
  const auto field = from.required("field");
  const auto keep = from.required_number<std::uint64_t>("keep");
  std::uint64_t salt = 0;
  from.read("salt", salt);
  from.done();
  return field_hash(field, keep, salt);
}

filter_stage make_field_between(const std::string& parameters) {
  parameter_reader from{"field_between@1", parameters};
  const auto field = from.required("field");
  const auto min = from.optional_number<double>("min");
  const auto max = from.optional_number<double>("max");
  from.done();
  return field_between(field, min, max);
}

filter_stage make_bytes_between(const std::string& parameters) {
  parameter_reader from{"bytes_between@1", parameters};
  const auto field = from.required("field");
  const auto min = from.optional_number<std::uint64_t>("min");
  const auto max = from.optional_number<std::uint64_t>("max");
  from.done();
  return bytes_between(field, min, max);
}

filter_stage make_length_between(const std::string& parameters) {
  parameter_reader from{"length_between@1", parameters};
  const auto field = from.required("field");
  const auto min = from.optional_number<std::uint64_t>("min");
  const auto max = from.optional_number<std::uint64_t>("max");
  from.done();
  return length_between(field, min, max);
}

filter_stage make_text_quality(const std::string& parameters) {
  parameter_reader from{"text_quality@1", parameters};
  const auto field = from.required("field");
  const text_quality_options options{
      .min_words = from.optional_number<std::uint64_t>("min_words"),
      .max_words = from.optional_number<std::uint64_t>("max_words"),
      .min_word_length = from.optional_number<double>("min_word_length"),
      .max_word_length = from.optional_number<double>("max_word_length"),
      .min_letters = from.optional_number<double>("min_letters"),
      .max_digits = from.optional_number<double>("max_digits"),
      .max_symbols = from.optional_number<double>("max_symbols"),
      .min_words_with_letters = from.optional_number<double>("min_words_with_letters"),
      .max_repeated_lines = from.optional_number<double>("max_repeated_lines"),
      .min_ended_lines = from.optional_number<double>("min_ended_lines"),
      .max_bullet_lines = from.optional_number<double>("max_bullet_lines"),
      .max_ellipsis_lines = from.optional_number<double>("max_ellipsis_lines")};
  from.done();
  return text_quality(field, options);
}

filter_stage make_matches(const std::string& parameters) {
  parameter_reader from{"matches@1", parameters};
  const auto field = from.required("field");
  const auto pattern = plain_text(from, "pattern", from.required("pattern"));
  matches_options options;
  from.read("whole", options.whole);
  from.read("invert", options.invert);
  from.done();
  return matches(field, pattern, options);
}

// -- flat_maps

flat_map_stage make_copies(const std::string& parameters) {
  parameter_reader from{"copies@1", parameters};
  const auto n = from.required_number<std::uint64_t>("n");
  from.done();
  return copies(n);
}

flat_map_stage make_split(const std::string& parameters) {
  parameter_reader from{"split@1", parameters};
  const auto field = from.required("field");
  std::uint64_t at = '\n';
  from.read("at", at);
  from.done();
  return split(field, at);
}

flat_map_stage make_windows(const std::string& parameters) {
  parameter_reader from{"windows@1", parameters};
  const auto field = from.required("field");
  const auto length = from.required_number<std::uint64_t>("length");
  from.done();
  return windows(field, length);
}

flat_map_stage make_chunks(const std::string& parameters) {
  parameter_reader from{"chunks@1", parameters};
  const auto field = from.required("field");
  const auto length = from.required_number<std::uint64_t>("length");
  std::uint64_t overlap = 0;
  from.read("overlap", overlap);
  from.done();
  return chunks(field, length, overlap);
}

// -- scans

scan_stage make_running_count(const std::string& parameters) {
  parameter_reader from{"running_count@1", parameters};
  const auto into = from.required("into");
  from.done();
  return running_count(into);
}

scan_stage make_running_sum(const std::string& parameters) {
  parameter_reader from{"running_sum@1", parameters};
  const auto field = from.required("field");
  const auto into = from.required("into");
  from.done();
  return running_sum(field, into);
}

} // namespace

stage_makers<map_stage> built_in_maps() {
  return {{"decode_image@1", make_decode_image},
          {"train_image@1", make_train_image},
          {"eval_image@1", make_eval_image},
          {"int_label@1", make_int_label},
          {"select@1", make_select},
          {"rename@1", make_rename},
          {"pad@1", make_pad},
          {"cast@1", make_cast},
          {"ragged@1", make_ragged},
          {"truncate@1", make_truncate},
          {"drop_fields@1", make_drop_fields},
          {"concat_fields@1", make_concat_fields},
          {"add_tokens@1", make_add_tokens},
          {"default_field@1", make_default_field},
          {"loss_mask@1", make_loss_mask},
          {"normalize_text@1", make_normalize_text},
          {"sentencepiece@1", make_sentencepiece}};
}

stage_makers<filter_stage> built_in_predicates() {
  return {{"key_hash@1", make_key_hash},           {"key_matches@1", make_key_matches},
          {"field_hash@1", make_field_hash},       {"field_between@1", make_field_between},
          {"bytes_between@1", make_bytes_between}, {"length_between@1", make_length_between},
          {"text_quality@1", make_text_quality},   {"matches@1", make_matches}};
}

stage_makers<flat_map_stage> built_in_flat_maps() {
  return {{"copies@1", make_copies},
          {"split@1", make_split},
          {"windows@1", make_windows},
          {"chunks@1", make_chunks}};
}

stage_makers<scan_stage> built_in_scans() {
  return {{"running_count@1", make_running_count}, {"running_sum@1", make_running_sum}};
}

} // namespace leat
