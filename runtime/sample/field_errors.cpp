#include "runtime/sample/field_errors.hpp"

#include "runtime/base/text.hpp"

namespace leat {

std::string how_to_set(std::string_view field) {
  return "default_field@1(field=" + in_quotes(field) + ", value=...) sets it";
}

std::string missing_text(std::string_view field, const std::vector<std::string>& have) {
  auto text = "field \"" + std::string{field} + "\" is missing; the sample has";
  for (const auto& x : have)
    text += " " + x;
  return (have.empty() ? text + " none" : text) + "; " + how_to_set(field);
}

std::string other_layout_text(const field_layout& have, const field_layout& want) {
  const auto text = "got " + to_string(have) + ", the batch has " + to_string(want);
  if (have.type == want.type || have.ragged || want.ragged)
    return text;
  // A whole number became an integer, or an integer is to be one of another type.
  const std::string type{to_string(have.type == dtype::f64 ? have.type : want.type)};
  return text + "; for one type: cast@1(field=" + in_quotes(have.name) + ", type=" + in_quotes(type)
         + "), or json_lines(..., types=[" + in_quotes(have.name + ':' + type) + "])";
}

} // namespace leat
