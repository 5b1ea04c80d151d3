#include "runtime/pipeline/pipeline_facts.hpp"

#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"

namespace leat {

namespace {

/// `has_states`: lanes have states, unless this part is indexed.
operator_facts facts_of(const operator_node& x, bool has_states) {
  const bool writes = has_states && !is_indexed(x);
  const auto* type = find_operator(x.op);
  operator_facts facts{.op = x.op,
                       .options = x.options,
                       .state_version = writes && type ? type->forms.state_version : 0};
  if (x.is_source())
    facts.data = x.facts();
  for (const auto& input : x.inputs)
    facts.inputs.push_back(facts_of(*input, writes));
  return facts;
}

} // namespace

pipeline_facts describe(const pipeline& x, std::uint64_t lanes) {
  if (!is_batch(x.root()))
    throw error(
        errc::invalid_argument,
        {.stage = "pipeline", .got = "no batch()", .needed = "batch(rows) as the last call"});
  check_tree_size(x.root());
  pipeline_facts facts{facts_of(x.root(), true), lanes, !is_indexed(*x.root().inputs.front())};
  for (auto& option : facts.root.options)
    if (option.name == "end")
      option.value = std::string{name_of(end_of(x.root()))};
  return facts;
}

void for_each_operator(const operator_facts& root,
                       const std::function<void(const operator_facts&)>& visit) {
  for (const auto& input : root.inputs)
    for_each_operator(input, visit);
  visit(root);
}

bool is_batch(const operator_facts& x) {
  const auto* type = find_operator(x.op);
  return type && type->traits.is_batch;
}

bool is_map(const operator_facts& x) {
  const auto* type = find_operator(x.op);
  return type && type->traits.is_map && x.inputs.size() == 1;
}

std::string shape_of(const operator_facts& root) {
  std::string inputs;
  for (const auto& input : root.inputs)
    inputs += (inputs.empty() ? "" : ", ") + shape_of(input);
  if (is_map(root))
    return inputs;
  if (root.inputs.size() == 1)
    return inputs + '.' + root.op;
  return root.is_source() ? root.op : root.op + '(' + inputs + ')';
}

} // namespace leat
