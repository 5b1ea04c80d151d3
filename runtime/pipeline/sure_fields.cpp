#include "runtime/pipeline/sure_fields.hpp"

#include "runtime/base/exception_text.hpp"
#include "runtime/base/map_parameters.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace leat {

namespace {

using field_names = std::set<std::string>;

/// The value of a function's parameter; empty where there is none.
std::string parameter_value(const operator_node& x, std::string_view name) {
  const auto words = split_parameters(x.get<std::string>("parameters"));
  if (!words)
    return {};
  const auto found =
      std::find_if(words->begin(), words->end(), [&](const auto& w) { return w.name == name; });
  return found == words->end() ? std::string{} : found->value;
}

void erase_alternatives(field_names& from, std::string_view fields) {
  for (auto rest = fields; !rest.empty();) {
    const auto end = std::min(rest.find(';'), rest.size());
    from.erase(std::string{rest.substr(0, end)});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

field_names after_map(const operator_node& x, field_names fields) {
  const auto& name = x.get<std::string>("name");
  if (name == "pad@1")
    return fields;
  if (name == "select@1") {
    const auto kept = split_list(parameter_value(x, "fields"));
    return {kept.begin(), kept.end()};
  }
  if (name == "rename@1") {
    fields.erase(parameter_value(x, "from"));
    fields.insert(parameter_value(x, "to"));
    return fields;
  }
  const bool is_label = name == "int_label@1";
  if (!is_label && name != "decode_image@1" && name != "train_image@1" && name != "eval_image@1")
    return {};
  erase_alternatives(fields, parameter_value(x, "field"));
  fields.insert(is_label ? "label" : "image");
  return fields;
}

field_names after_flat_map(const operator_node& x, field_names fields) {
  const auto& name = x.get<std::string>("name");
  return name == "copies@1" || name == "split@1" || name == "windows@1" ? std::move(fields)
                                                                        : field_names{};
}

field_names after_scan(const operator_node& x, field_names fields) {
  const auto& name = x.get<std::string>("name");
  if (name != "running_count@1" && name != "running_sum@1")
    return {};
  fields.insert(parameter_value(x, "into"));
  return fields;
}

field_names of_source(const operator_node& x) {
  if (x.op == "count" || x.op == "raw_records")
    return {"value"};
  if (x.op == "lines" || x.op == "standard_input")
    return {"text"};
  return {};
}

/// All fields of all inputs, in one sample.
field_names of_zip(const std::vector<field_names>& inputs) {
  field_names all;
  for (const auto& input : inputs)
    for (const auto& name : input)
      if (!all.insert(name).second)
        refuse_argument("zip", "field \"" + name + "\" in two inputs",
                        "different names: see rename@1");
  return all;
}

/// Of samples that come from one input or another.
field_names of_any(const std::vector<field_names>& inputs) {
  auto common = inputs.front();
  for (const auto& input : inputs)
    std::erase_if(common, [&](const auto& name) { return !input.contains(name); });
  return common;
}

field_names behind(const operator_node& x, field_names input) {
  if (x.op == "map")
    return after_map(x, std::move(input));
  if (x.op == "flat_map")
    return after_flat_map(x, std::move(input));
  if (x.op == "scan")
    return after_scan(x, std::move(input));
  if (x.op == "read_files")
    return x.get<std::string>("format") == "lines" ? field_names{"text"} : field_names{};
  if (x.op == "pack")
    return {x.get<std::string>("field"), "segment", "offset"};
  if (x.op == "enumerate")
    input.insert(x.get<std::string>("field"));
  return input;
}

} // namespace

std::set<std::string> sure_fields(const operator_node& x) {
  if (x.is_source())
    return of_source(x);
  std::vector<field_names> inputs;
  for (const auto& input : x.inputs)
    inputs.push_back(sure_fields(*input));
  if (x.op == "zip")
    return of_zip(inputs);
  return x.op == "concat" || x.op == "mix" ? of_any(inputs) : behind(x, std::move(inputs.front()));
}

} // namespace leat
