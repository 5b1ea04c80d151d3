#include "runtime/pipeline/sure_fields.hpp"

#include <utility>
#include <vector>

namespace leat {

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
  const auto known = type_of(x).traits.sure_fields;
  return known ? known(x, inputs) : of_any(inputs);
}

} // namespace leat
