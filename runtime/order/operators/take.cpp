#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/operators/limit.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>

namespace leat {

pipeline pipeline::take(std::uint64_t n) const {
  return then({.op = "take", .options = {{"n", n}}});
}

namespace {

class take_iterator final : public counting_iterator {
public:
  using counting_iterator::counting_iterator;

  pulled pull(item& into) override {
    if (full())
      return pulled::end;
    const auto result = input().pull(into);
    if (result == pulled::item)
      count();
    return result;
  }
};

class take_form final : public limit_form {
public:
  using limit_form::limit_form;

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<take_iterator>(input().begin(lane, g), share_of(lane));
  }
};

} // namespace

operator_type take_operator() {
  return {.word = "take",
          .role = operator_role::step,
          .options = {plain("n", option_type::number)},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].take(call.get<std::uint64_t>("n"));
              },
          .forms = {.indexed = [](const operator_node& x, indexed_inputs inputs,
                                  indexed_planner&) -> indexed_form_ptr {
                      const auto n = x.get<std::uint64_t>("n");
                      const auto size = inputs.items.front()->size();
                      return std::make_shared<stretch>(std::move(inputs.items.front()), 0,
                                                       std::min(n, size));
                    },
                    .iterator = [](const operator_node& x, const surroundings& at,
                                   iterator_planner& planner) -> iterator_form_ptr {
                      return std::make_shared<take_form>(planner.build_input(x, at),
                                                         x.get<std::uint64_t>("n"));
                    },
                    .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
            return {"a count", 3, facts.item};
          }}};
}

} // namespace leat
