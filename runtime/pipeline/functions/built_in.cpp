#include "runtime/pipeline/functions/built_in.hpp"

#include "runtime/base/map_parameters.hpp"
#include "runtime/image/pixels/image_chain.hpp"
#include "runtime/pipeline/functions/function_text.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"

#include <leat/function_types.hpp>

#include <type_traits>
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

/// The type that Python's functions call dtype; parameters that were written have `type`.
std::optional<std::string> type_in(parameter_reader& from) {
  auto type = from.optional("dtype");
  return type ? type : from.optional("type");
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

using any_value = std::variant<bool, std::int64_t, double, std::string>;

any_value any_value_in(parameter_reader& from, const char* name) {
  auto type = type_in(from);
  const auto value = from.required(name);
  if (!type)
    type = likely_type(value);
  if (*type == "i64")
    return from.number<std::int64_t>(name, value);
  if (*type == "f64")
    return from.number<double>(name, value);
  if (*type == "u8" && (value == "0" || value == "1" || value == "true" || value == "false"))
    return value == "1" || value == "true";
  if (*type == "u8")
    from.refuse("value=" + value, "true or false");
  if (*type != "bytes")
    from.refuse("type=" + *type, "u8, i64, f64 or bytes");
  return plain_text(from, name, value);
}

/// The word of an enumeration.
template <class T>
T value_of_word(const parameter_reader& from, const char* name, const std::string& given) {
  const auto known = value_of(given, words_of<T>);
  if (!known)
    from.refuse(std::string{name} + '=' + given, list_of(words_of<T>));
  return *known;
}

/// The value of a parameter that is not an option.
template <class T>
T required_value(parameter_reader& from, const required_parameter<T>& x) {
  if constexpr (std::is_same_v<T, any_value>)
    return any_value_in(from, x.name);
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return from.required_number<T>(x.name);
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return split_list(from.required(x.name));
  else {
    auto text = from.required(x.name);
    return x.form == parameter_form::percent ? plain_text(from, x.name, text) : text;
  }
}

template <class T>
void read_option(parameter_reader& from, const char* name, T& value) {
  if constexpr (has_words<T>) {
    if (const auto given = from.optional(name))
      value = value_of_word<T>(from, name, *given);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = from.optional(name).value_or(value);
  } else {
    from.read(name, value);
  }
}

template <class T>
void read_option(parameter_reader& from, const char* name, std::optional<T>& value) {
  value = from.optional_number<T>(name);
}

template <class T, bool Required>
T value_in(parameter_reader& from, const function_parameter<T, Required>& x) {
  if constexpr (std::is_same_v<T, dtype>) {
    const auto type = type_in(from);
    if (!type && !Required)
      return x.preset;
    return parse_dtype(type ? *type : from.required("type"), from.function());
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    return from.numbers<std::int64_t>(x.name);
  } else if constexpr (Required) {
    return required_value(from, x);
  } else {
    auto value = x.preset;
    read_option(from, x.name, value);
    return value;
  }
}

/// Reads a function's parameters in their order, and makes it.
template <std::size_t Positional, class Make, class... Parameter>
auto maker_of(const function_type<Positional, Make, Parameter...>& x) {
  return [x](const std::string& parameters) {
    parameter_reader from{x.name, parameters};
    auto values = std::apply(
        [&](const auto&... each) {
          return std::tuple<typename Parameter::type...>{value_in(from, each)...};
        },
        x.parameters);
    from.done();
    return std::apply(x.make, std::move(values));
  };
}

template <class Stage, class Types>
stage_makers<Stage> makers_of(const Types& types) {
  return std::apply(
      [](const auto&... x) {
        return stage_makers<Stage>{{x.name, maker_of(x)}...};
      },
      types);
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

map_stage make_tokenize(const std::string& parameters) {
  parameter_reader from{"tokenize@1", parameters};
  const auto path = plain_text(from, "tokenizer", from.required("tokenizer"));
  auto hash = from.optional("hash");
  if (hash)
    hash = plain_text(from, "hash", *hash);
  tokenize_options options;
  options.field = plain_text(from, "field", from.optional("field").value_or(options.field));
  options.into = plain_text(from, "into", from.optional("into").value_or(options.into));
  if (const auto type = from.optional("dtype"))
    options.type = parse_dtype(*type, from.function());
  from.read("add_special_tokens", options.add_special_tokens);
  options.max_tokens = from.optional_number<std::uint64_t>("max_tokens");
  from.read("keep_text", options.keep_text);
  from.read("encode_special_tokens", options.encode_special_tokens);
  options.encoding = from.optional("encoding").value_or("");
  from.done();
  return tokenize_of_hash(path, hash, std::move(options));
}

} // namespace

stage_makers<map_stage> built_in_maps() {
  auto all = makers_of<map_stage>(function_types::maps());
  all["decode_image@1"] = make_decode_image;
  all["sentencepiece@1"] = make_sentencepiece;
  all["tokenize@1"] = make_tokenize;
  return all;
}

stage_makers<filter_stage> built_in_predicates() {
  return makers_of<filter_stage>(function_types::predicates());
}

stage_makers<flat_map_stage> built_in_flat_maps() {
  return makers_of<flat_map_stage>(function_types::flat_maps());
}

stage_makers<scan_stage> built_in_scans() {
  return makers_of<scan_stage>(function_types::scans());
}

} // namespace leat
