#include "runtime/pipeline_facts.hpp"

namespace leat {

namespace {

/// Before any data are opened: shared inputs can make a tree larger than could ever be walked.
/// `operators` counts those that are seen.
void check_size(const stage& x, const tree_size& above, std::size_t& operators) {
  const tree_size size{.operators = ++operators,
                       .height = above.height + 1,
                       .nested_joins = above.nested_joins + (x.inputs.size() > 1 ? 1 : 0)};
  check_tree_size(size);
  for (const auto& input : x.inputs)
    check_size(*input, size, operators);
}

stage_facts facts_of(const stage& x) {
  stage_facts facts{.op = x.op, .options = x.options};
  if (x.is_source())
    facts.data = x.data->get()->facts();
  for (const auto& input : x.inputs)
    facts.inputs.push_back(facts_of(*input));
  return facts;
}

[[noreturn]] void refuse(const std::string& got, const std::string& needed) {
  throw error(errc::invalid_argument, {.stage = "pipeline", .got = got, .needed = needed});
}

} // namespace

std::string excess_of(const tree_size& x) {
  const auto& most = max_tree_size;
  if (x.operators > most.operators)
    return "more than " + std::to_string(most.operators) + " operators";
  if (x.height > most.height)
    return "more than " + std::to_string(most.height) + " operators behind one another";
  if (x.nested_joins > most.nested_joins)
    return "more than " + std::to_string(most.nested_joins) + " joins in one another";
  return {};
}

void check_tree_size(const tree_size& x) {
  const auto excess = excess_of(x);
  if (!excess.empty())
    refuse(excess, "fewer");
}

pipeline_facts describe(const pipeline& x, std::uint64_t lanes) {
  if (x.root().op != "batch")
    refuse("no batch()", "batch(rows) as last call");
  std::size_t operators = 0;
  check_size(x.root(), {}, operators);
  return {facts_of(x.root()), lanes};
}

void for_each_stage(const stage_facts& root, const std::function<void(const stage_facts&)>& visit) {
  for (const auto& input : root.inputs)
    for_each_stage(input, visit);
  visit(root);
}

bool is_map(const stage_facts& x) noexcept {
  return x.op == "map" && x.inputs.size() == 1;
}

std::string shape_of(const stage_facts& root) {
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
