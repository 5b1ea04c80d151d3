#include "runtime/pipeline/pipeline_facts.hpp"

#include "runtime/base/text.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"

namespace leat {

namespace {

/// Those that say which samples there are, and what is in them.
std::vector<node_option> options_of(const operator_node& x) {
  auto options = x.options;
  std::erase_if(options, [&](const auto& option) {
    const auto* known = find_option(x.op, option.name);
    return known && known->is_how;
  });
  return options;
}

/// `has_states`: lanes have states, unless this part is indexed.
operator_facts facts_of(const operator_node& x, bool has_states, bool opens_data) {
  const bool writes = has_states && !is_indexed(x);
  const auto* type = find_operator(x.op);
  operator_facts facts{.op = x.op,
                       .options = options_of(x),
                       .state_version = writes && type ? type->forms.state_version : 0,
                       .reading_version = writes && type ? type->forms.reading_version : 0};
  if (opens_data && x.is_source())
    facts.data = x.facts();
  for (const auto& input : x.inputs)
    facts.inputs.push_back(facts_of(*input, writes, opens_data));
  return facts;
}

pipeline pipeline_of(operator_node root) {
  return pipeline{std::make_shared<const operator_node>(std::move(root))};
}

operator_node with_functions(operator_node x, const std::vector<map_stage>& maps) {
  for (auto& input : x.inputs)
    input = std::make_shared<const operator_node>(with_functions(*input, maps));
  if (x.op != "map" || x.is_source())
    return x;
  for (const auto& map : maps)
    if (x.get<std::string>("name") == map.name
        && x.get<std::string>("parameters") == map.parameters) {
      x.make = map.make;
      x.make_together = map.make_together;
      std::erase_if(x.options, [](const auto& option) { return option.name == "isolate"; });
    }
  return x;
}

} // namespace

operator_facts operators_of(const pipeline& x) {
  check_tree_size(x.root());
  return facts_of(x.root(), false, false);
}

operator_facts operators_with_data(const pipeline& x) {
  check_tree_size(x.root());
  return facts_of(x.root(), false, true);
}

std::vector<data_passed_over> passed_over_in(const pipeline& x) {
  check_tree_size(x.root());
  passed_over all;
  for_each_operator(x.root(), [&](const operator_node& node) {
    if (node.is_source())
      all.add(node.others(), "");
  });
  std::vector<data_passed_over> result;
  for (const auto& entry : all.entries())
    result.push_back({.why = std::string{word_of(entry.why)},
                      .what = name_of(entry.why, entry.count),
                      .count = entry.count,
                      .first = entry.first});
  return result;
}

bool is_once(const pipeline& x) {
  return is_once(x.root());
}

epoch_end end_of(const pipeline& x) {
  check_has_batch(x.root());
  return end_of(x.root());
}

pipeline with_end(const pipeline& x, epoch_end end) {
  check_has_batch(x.root());
  auto batch = x.root();
  for (auto& option : batch.options)
    if (option.name == "end")
      option.value = std::string{name_of(end)};
  return pipeline_of(std::move(batch));
}

pipeline with_maps(const pipeline& x, const std::vector<map_stage>& maps) {
  check_tree_size(x.root());
  return pipeline_of(with_functions(x.root(), maps));
}

pipeline_facts describe(const pipeline& x, std::uint64_t lanes) {
  check_has_batch(x.root());
  check_tree_size(x.root());
  pipeline_facts facts{facts_of(x.root(), true, true), lanes,
                       !is_indexed(*x.root().inputs.front())};
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
  auto inputs = listed(root.inputs, shape_of);
  if (is_map(root))
    return inputs;
  if (root.inputs.size() == 1)
    return inputs + '.' + root.op;
  return root.is_source() ? root.op : root.op + '(' + inputs + ')';
}

} // namespace leat
