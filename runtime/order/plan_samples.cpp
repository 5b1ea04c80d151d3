#include "runtime/order/plan_samples.hpp"

#include "runtime/order/iterator_planner.hpp"

#include <set>

namespace leat {

namespace {

void open(const operator_node& source) {
  if (source.data)
    source.data->get();
  else if (source.stream)
    source.stream->get();
  else if (source.feed)
    source.feed->get();
}

/// Tries each source once, however often it occurs in the tree. Returns those that cannot be
/// opened.
std::set<const operator_node*> open_sources(const operator_node& root, error_list& errors) {
  std::set<const operator_node*> seen;
  std::set<const operator_node*> unopened;
  for_each_operator(root, [&](const operator_node& x) {
    if (!x.is_source() || !seen.insert(&x).second)
      return;
    unopened.insert(&x);
    errors.collect([&] {
      open(x);
      unopened.erase(&x);
    });
  });
  return unopened;
}

/// See sample_graph::first_together.
std::size_t find_together(const operator_node& root, const sample_graph& plan) {
  auto found = plan.maps.size();
  const auto* x = &root;
  for (auto i = plan.maps.size(); i > 0 && x->op == "map" && !x->is_source();
       x = x->inputs.front().get())
    if (plan.maps[--i].make_together)
      found = i;
  return found;
}

} // namespace

sample_graph plan_samples(const operator_node& root, std::uint64_t lanes) {
  error_list errors{"pipeline"};
  sample_graph plan;
  iterator_planner planner{plan, lanes, errors, open_sources(root, errors)};
  errors.collect([&] { planner.plan(root); });
  errors.check();
  plan.first_together = find_together(root, plan);
  return plan;
}

} // namespace leat
