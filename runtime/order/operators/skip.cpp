#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/operators/limit.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <algorithm>

namespace leat {

pipeline pipeline::skip(std::uint64_t n) const {
  return then({.op = "skip", .options = {{"n", n}}});
}

namespace {

class skip_iterator final : public counting_iterator {
public:
  skip_iterator(std::unique_ptr<iterator> input, std::uint64_t most, const lane_context& lane)
      : counting_iterator(std::move(input), most), lane_(lane) {}

  pulled pull(item& into) override {
    const auto begin = into.size();
    while (!full()) {
      const auto result = input().pull(into);
      into.cut(begin);
      if (result != pulled::item)
        return result;
      count();
      if (!lane_.run->may_go_on())
        return pulled::blocked;
    }
    return input().pull(into);
  }

private:
  lane_context lane_;
};

class skip_form final : public limit_form {
public:
  using limit_form::limit_form;

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<skip_iterator>(input().begin(lane, g), share_of(lane), lane);
  }
};

} // namespace

operator_type skip_operator() {
  return {.word = "skip",
          .role = operator_role::step,
          .options = {plain("n", option_type::number)},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].skip(call.get<std::uint64_t>("n"));
              },
          .forms = {.indexed = [](const operator_node& x, indexed_inputs inputs,
                                  indexed_planner&) -> indexed_form_ptr {
                      const auto n = x.get<std::uint64_t>("n");
                      const auto size = inputs.items.front()->size();
                      return std::make_shared<stretch>(std::move(inputs.items.front()),
                                                       std::min(n, size), size - std::min(n, size));
                    },
                    .iterator = [](const operator_node& x, const surroundings& at,
                                   iterator_planner& planner) -> iterator_form_ptr {
                      return std::make_shared<skip_form>(planner.build_input(x, at),
                                                         x.get<std::uint64_t>("n"));
                    },
                    .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
            return {"a count", 3, facts.item};
          }}};
}

} // namespace leat
