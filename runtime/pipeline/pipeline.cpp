#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <leat/pipeline.hpp>

#include <utility>

// The value itself. The members that add operators are defined in files of their own:
// runtime/order/operators.

namespace leat {

namespace {

void check_below_batch(const operator_node& input, const std::string& op) {
  if (is_batch(input))
    refuse_argument(op, "an operator after batch()", "batch() as the last call");
  const auto* type = find_operator(op);
  if (type && (type->traits.is_batch || type->traits.is_map))
    return;
  if (const auto* end = find_end(input))
    refuse_argument(op, "an operator after " + end->op, "only maps and batch() after it");
}

} // namespace

pipeline::pipeline(std::shared_ptr<const operator_node> root) : root_(std::move(root)) {}

pipeline pipeline::then(operator_node next) const {
  check_below_batch(*root_, next.op);
  remove_unchanged(next);
  next.inputs = {root_};
  return pipeline{std::make_shared<const operator_node>(std::move(next))};
}

pipeline pipeline::join(operator_node next, std::vector<pipeline> inputs) {
  if (inputs.empty())
    refuse_argument(next.op, "no inputs", "at least one");
  next.inputs.reserve(inputs.size());
  for (auto& x : inputs) {
    check_below_batch(*x.root_, next.op);
    next.inputs.push_back(std::move(x.root_));
  }
  return pipeline{std::make_shared<const operator_node>(std::move(next))};
}

bool operator==(const pipeline& a, const pipeline& b) {
  return same_operators(a.root(), b.root());
}

} // namespace leat
