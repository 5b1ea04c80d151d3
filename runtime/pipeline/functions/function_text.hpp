#pragma once

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/option_words.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <leat/function_types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace leat {

// What leat's own functions share: above all their parameter text, "field=a keep=50", from which
// they are made again.

/// Refuses a field name that could not be written in the text.
inline void check_field_name(const char* function, const std::string& name) {
  if (name.empty() || name.find_first_of(" ,\t\n\v\f\r") != std::string::npos)
    refuse_argument(function, "field " + excerpt(name), "a name without spaces and commas");
}

inline std::string word(std::string_view name, const std::string& value) {
  return std::string{name} + '=' + value;
}

/// The words of an enumeration that is a parameter of a function; null for other types.
template <class T>
inline constexpr auto words_of = nullptr;

template <>
inline constexpr option_words<white_space, 3> words_of<white_space>{
    {{"keep", white_space::keep}, {"lines", white_space::lines}, {"all", white_space::all}}};

template <>
inline constexpr option_words<unicode_form, 5> words_of<unicode_form>{
    {{"keep", unicode_form::keep},
     {"nfc", unicode_form::nfc},
     {"nfd", unicode_form::nfd},
     {"nfkc", unicode_form::nfkc},
     {"nfkd", unicode_form::nfkd}}};

template <>
inline constexpr option_words<image_layout, 2> words_of<image_layout>{
    {{"nchw", image_layout::nchw}, {"nhwc", image_layout::nhwc}}};

template <class T>
inline constexpr bool has_words = !std::is_null_pointer_v<std::remove_cv_t<decltype(words_of<T>)>>;

// Values in texts.

inline std::string value_text(const std::string& x) {
  return x;
}
inline std::string value_text(bool x) {
  return x ? "true" : "false";
}
inline std::string value_text(double x) {
  return number_text(x);
}
inline std::string value_text(std::uint64_t x) {
  return std::to_string(x);
}
inline std::string value_text(std::int64_t x) {
  return std::to_string(x);
}
inline std::string value_text(dtype x) {
  return std::string{to_string(x)};
}
template <class T>
requires has_words<T> std::string value_text(T x) {
  return word_of(x, words_of<T>);
}
template <class T>
std::string value_text(const std::vector<T>& all) {
  std::string text;
  for (const auto& x : all)
    text += (text.empty() ? "" : ",") + value_text(x);
  return text;
}

// Refuse what could not be written, and what is out of range.

template <class T>
void check_range(const char* function, const char* name, const parameter_range& range, T x) {
  const auto value = static_cast<double>(x);
  if (range.needed && !(value >= range.lowest && value <= range.highest))
    refuse_argument(function, word(name, value_text(x)), range.needed);
}

template <class T, bool Required>
void check_parameter(const char* function, const function_parameter<T, Required>& x,
                     const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (x.form == parameter_form::field)
      check_field_name(function, value);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    for (const auto& name : value)
      check_field_name(function, name);
    if (value.empty())
      refuse_argument(function, "no fields", "at least one");
  } else if constexpr (has_words<T>) {
    if (value_text(value).empty())
      refuse_argument(function, x.name, list_of(words_of<T>));
  } else if constexpr (std::is_arithmetic_v<T>) {
    check_range(function, x.name, x.range, value);
  }
}
template <class T>
void check_parameter(const char* function, const preset_parameter<std::optional<T>>& x,
                     const std::optional<T>& value) {
  if (value)
    check_range(function, x.name, x.range, *value);
}

/// " min=3"; nothing for what is not given, for no elements, and for a preset that texts leave out.
template <class T, bool Required>
std::string word_of_parameter(const function_parameter<T, Required>& x, const T& value) {
  if (x.form == parameter_form::if_changed && value == x.preset)
    return {};
  if (x.form == parameter_form::percent)
    return ' ' + word(x.name, percent_text(value_text(value)));
  return ' ' + word(x.name, value_text(value));
}
template <class T>
std::string word_of_parameter(const preset_parameter<std::optional<T>>& x,
                              const std::optional<T>& value) {
  return value ? ' ' + word(x.name, value_text(*value)) : std::string{};
}
template <bool Required>
std::string word_of_parameter(const function_parameter<std::vector<std::int64_t>, Required>& x,
                              const std::vector<std::int64_t>& value) {
  return value.empty() ? std::string{} : ' ' + word(x.name, value_text(value));
}
template <bool Required>
std::string word_of_parameter(const function_parameter<dtype, Required>&, dtype value) {
  return ' ' + word("type", value_text(value));
}

/// A value of a sample, with its type.
template <class... T>
std::string word_of_parameter(const required_parameter<std::variant<T...>>& x,
                              const std::variant<T...>& value) {
  if (const auto* is_on = std::get_if<bool>(&value))
    return std::string{" type=u8 "} + word(x.name, *is_on ? "1" : "0");
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return " type=i64 " + word(x.name, value_text(*integer));
  if (const auto* real = std::get_if<double>(&value))
    return " type=f64 " + word(x.name, value_text(*real));
  return " type=bytes " + word(x.name, percent_text(std::get<std::string>(value)));
}

/// The parameter text of a function with these values. Throws `errc::invalid_argument` for values
/// that its description excludes.
template <std::size_t Positional, class Make, class... Parameter>
std::string parameters_of(const function_type<Positional, Make, Parameter...>& x,
                          const typename Parameter::type&... values) {
  return std::apply(
             [&](const auto&... each) {
               (check_parameter(x.name, each, values), ...);
               return (word_of_parameter(each, values) + ...);
             },
             x.parameters)
      .substr(1);
}

/// A function without state: each worker gets a copy.
template <class Function>
std::function<Function()> everywhere(Function x) {
  return [x = std::move(x)] { return x; };
}

} // namespace leat
