#include "runtime/pipeline/operator_option.hpp"

#include "runtime/base/map_parameters.hpp"

#include <algorithm>
#include <utility>

namespace leat {

operator_option plain(std::string_view name, option_type type) {
  return {.name = name, .type = type, .named = false};
}

operator_option in_facts(operator_option x) {
  x.is_in_facts = true;
  return x;
}

operator_option later(operator_option x) {
  x.only_if_changed = true;
  return x;
}

operator_option only_how(operator_option x) {
  x.is_how = true;
  return x;
}

operator_option written_as(std::string_view text_name, operator_option x) {
  x.written = text_name;
  return x;
}

bool holds(const option_value& x, option_type type) {
  switch (type) {
  case option_type::flag:
    return std::holds_alternative<bool>(x);
  case option_type::number:
    return std::holds_alternative<std::uint64_t>(x);
  case option_type::real:
    return std::holds_alternative<double>(x);
  case option_type::numbers:
  case option_type::ratios:
    return std::holds_alternative<std::vector<std::uint64_t>>(x);
  case option_type::text:
  case option_type::parameters:
    return std::holds_alternative<std::string>(x);
  case option_type::texts:
  case option_type::listed_texts:
    return std::holds_alternative<std::vector<std::string>>(x);
  }
  return false;
}

std::vector<operator_option> function_options() {
  return {plain("name", option_type::text), {"parameters", option_type::parameters, std::string{}}};
}

operator_node calling(std::string op, std::string name, std::string parameters) {
  return {.op = std::move(op),
          .options = {{"name", std::move(name)}, {"parameters", std::move(parameters)}}};
}

void check_function_name(const char* op, const std::string& name) {
  const auto version = name.rfind('@');
  if (version == 0 || version == std::string::npos || version + 1 == name.size())
    refuse_argument(op, '"' + name + '"', "a name with a version: \"label@1\"");
}

std::string parameter_value(const operator_node& call, std::string_view name) {
  const auto words = split_parameters(call.get<std::string>("parameters"));
  if (!words)
    return {};
  const auto found =
      std::find_if(words->begin(), words->end(), [&](const auto& w) { return w.name == name; });
  return found == words->end() ? std::string{} : found->value;
}

void check_field(const char* op, const std::string& field) {
  if (field.empty())
    refuse_argument(op, "no name", "a field's name");
}

} // namespace leat
