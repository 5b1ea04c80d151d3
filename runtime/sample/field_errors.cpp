#include "runtime/sample/field_errors.hpp"

#include "runtime/base/text.hpp"

namespace leat {

std::string how_to_set(std::string_view field) {
  return "default_field@1(field=" + in_quotes(field) + ", value=...) sets it";
}

namespace {

/// What follows the last dot, or all of it.
std::string_view ending_of(std::string_view field) {
  return field.substr(field.rfind('.') + 1);
}

/// Whether this may be a tar file whose names have dots where their writer did not mean one.
bool is_split_early(std::string_view field, std::string_view have) {
  return have.find('.') != std::string_view::npos && ending_of(have) == ending_of(field);
}

} // namespace

std::string missing_text(std::string_view field, const std::vector<std::string>& have) {
  auto text = "field \"" + std::string{field} + "\" is missing; the sample has";
  for (const auto& x : have)
    text += " " + x;
  if (have.empty())
    text += " none";
  for (const auto& x : have)
    if (is_split_early(field, x))
      return text
             + "; members of tar files are named KEY.FIELD, and a key ends at the first dot: a "
               "name with other dots needs them replaced, or the field "
             + in_quotes(x);
  return text + "; " + how_to_set(field);
}

std::string other_layout_text(const field_layout& have, const field_layout& want) {
  auto text = "got " + to_string(have) + ", the batch has " + to_string(want);
  const auto& numbers = have.is_bytes() ? want : have;
  const bool is_of_json = numbers.type == dtype::i64 || numbers.type == dtype::f64;
  if (have.is_bytes() != want.is_bytes() && is_of_json)
    return text
           + "; for one type, which keeps the JSON text of nested values: json_lines(..., types=["
           + in_quotes(have.name + ":bytes") + "])";
  if (have.type == want.type || have.ragged || want.ragged)
    return text;
  // A whole number became an integer, or an integer is to be one of another type.
  const std::string type{to_string(have.type == dtype::f64 ? have.type : want.type)};
  return text + "; for one type: cast@1(field=" + in_quotes(have.name) + ", type=" + in_quotes(type)
         + "), or json_lines(..., types=[" + in_quotes(have.name + ':' + type) + "])";
}

} // namespace leat
