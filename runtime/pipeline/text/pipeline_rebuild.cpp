#include "runtime/pipeline/text/pipeline_rebuild.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/text/text_errors.hpp"

#include <leat/sources.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace leat {

namespace {

bool takes(const operator_type& op, std::size_t inputs) {
  switch (op.role) {
  case operator_role::source:
    return inputs == 0;
  case operator_role::step:
    return inputs == 1;
  case operator_role::join:
    return inputs > 0;
  }
  return false;
}

bool has_options_of(const operator_facts& x, const operator_type& op) {
  auto next = x.options.begin();
  for (const auto& known : op.options) {
    const bool is_next = next != x.options.end() && next->name == known.name;
    if (is_next ? !holds(next->value, known.type) : !known.only_if_changed)
      return false;
    next += is_next ? 1 : 0;
  }
  return next == x.options.end();
}

class rebuilder {
public:
  pipeline build(const operator_facts& root) {
    auto result = made(root);
    errors_.check();
    return result;
  }

private:
  pipeline made(const operator_facts& x) {
    std::vector<pipeline> inputs;
    inputs.reserve(x.inputs.size());
    for (const auto& input : x.inputs)
      inputs.push_back(made(input));
    try {
      return call(x, inputs);
    } catch (const error& problem) {
      add(problem);
    }
    // A stand-in, so that the operators after it are checked all the same.
    return inputs.empty() ? count(1) : inputs.front();
  }

  static pipeline call(const operator_facts& x, const std::vector<pipeline>& inputs) {
    const auto* op = find_operator(x.op);
    if (!op || !takes(*op, inputs.size()))
      refuse_argument("pipeline", "operator " + excerpt(x.op),
                      "one that this version of leat knows");
    if (!has_options_of(x, *op))
      refuse_argument(x.op, "other options", "those that this version of leat knows");
    auto result = op->make({.op = x.op, .options = x.options}, inputs);
    if (result.root().options != x.options)
      refuse_argument(x.op, "other values of its options from its function",
                      "the function of the snapshot");
    return result;
  }

  /// A name that occurs several times gives one error.
  void add(const error& x) {
    if (seen_.insert(x.what()).second)
      errors_.add(x);
  }

  text_errors errors_{"pipeline of a snapshot"};
  std::set<std::string> seen_;
};

} // namespace

pipeline rebuild(const pipeline_facts& x) {
  return rebuilder{}.build(x.root);
}

} // namespace leat
