#include "runtime/pipeline/operator_type.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_list.hpp"

#include <algorithm>
#include <map>

namespace leat {

#define LEAT_DECLARE_OPERATOR(word) operator_type word##_operator();
LEAT_OPERATORS(LEAT_DECLARE_OPERATOR)

const std::vector<operator_type>& operator_types() {
#define LEAT_LIST_OPERATOR(word) word##_operator(),
  static const std::vector<operator_type> types{LEAT_OPERATORS(LEAT_LIST_OPERATOR)};
  return types;
}

const operator_type* find_operator(std::string_view word) {
  static const auto by_word = [] {
    std::map<std::string_view, const operator_type*> map;
    for (const auto& x : operator_types())
      map.emplace(x.word, &x);
    return map;
  }();
  const auto found = by_word.find(word);
  return found == by_word.end() ? nullptr : found->second;
}

const operator_option* find_option(std::string_view word, std::string_view option) {
  const auto* type = find_operator(word);
  if (!type)
    return nullptr;
  const auto found = std::find_if(type->options.begin(), type->options.end(),
                                  [&](const auto& x) { return x.name == option; });
  return found == type->options.end() ? nullptr : &*found;
}

void remove_unchanged(operator_node& x) {
  std::erase_if(x.options, [&](const node_option& option) {
    const auto* known = find_option(x.op, option.name);
    return known && known->only_if_changed && known->preset == option.value;
  });
}

const operator_type& type_of(const operator_node& x) {
  if (const auto* type = find_operator(x.op))
    return *type;
  refuse_argument(x.op, "an operator that this version of leat does not know",
                  "one of docs/pipelines.md or docs/iterators.md");
}

namespace {

/// Fields of samples that come from one input or another.
field_names of_any(const std::vector<field_names>& inputs) {
  auto common = inputs.empty() ? field_names{} : inputs.front();
  for (const auto& input : inputs)
    std::erase_if(common, [&](const auto& name) { return !input.contains(name); });
  return common;
}

} // namespace

field_names sure_fields(const operator_node& x) {
  std::vector<field_names> inputs;
  for (const auto& input : x.inputs)
    inputs.push_back(sure_fields(*input));
  const auto& traits = type_of(x).traits;
  if (!traits.only_field.empty())
    return {std::string{traits.only_field}};
  return traits.sure_fields ? traits.sure_fields(x, inputs) : of_any(inputs);
}

} // namespace leat
