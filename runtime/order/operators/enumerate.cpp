#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/counting_iterator.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <utility>

namespace leat {

pipeline pipeline::enumerate(std::string field) const {
  check_field("enumerate", field);
  return then({.op = "enumerate", .options = {{"field", std::move(field)}}});
}

namespace {

class enumerated final : public indexed_over {
public:
  enumerated(indexed_form_ptr input, std::string field)
      : indexed_over(std::move(input)), field_(std::move(field)) {}

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    const auto sample_key = input().make(at, into, with);
    into.set(field_, static_cast<std::int64_t>(at.item));
    return sample_key;
  }

private:
  std::string field_;
};

/// The numbers of all lanes are int64.
std::uint64_t most_numbers_of_lane(std::uint64_t lanes) {
  return (std::uint64_t{1} << 63) / lanes - 1;
}

class enumerated_iterator final : public counting_iterator {
public:
  enumerated_iterator(std::unique_ptr<iterator> input, const lane_context& lane)
      : counting_iterator(std::move(input), most_numbers_of_lane(lane.lanes)) {}

  pulled pull(item& into) override {
    const auto begin = into.size();
    into.add(counted());
    const auto result = input().pull(into);
    if (result == pulled::item)
      count();
    else
      into.cut(begin);
    return result;
  }
};

class enumerated_form final : public over_numbered<iterator_form> {
public:
  enumerated_form(iterator_form_ptr input, std::string field)
      : over_numbered(std::move(input)), field_(std::move(field)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<enumerated_iterator>(input().begin(lane, g), lane);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto number = at.lane + from.number(most_numbers_of_lane(at.lanes), "number") * at.lanes;
    const auto sample_key = over_numbered::make(from, at, into, with);
    into.set(field_, static_cast<std::int64_t>(number));
    return sample_key;
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    from.number();
    over_numbered::append_id(from, at, orders, to);
  }

private:
  std::string field_;
};

field_names fields_with_number(const operator_node& x, std::vector<field_names>& inputs) {
  inputs.front().insert(x.get<std::string>("field"));
  return std::move(inputs.front());
}

} // namespace

operator_type enumerate_operator() {
  return {.word = "enumerate",
          .role = operator_role::step,
          .options = {{"field", option_type::text, std::string{"index"}}},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].enumerate(call.get<std::string>("field"));
              },
          .traits = {.sure_fields = fields_with_number},
          .forms = {.indexed = [](const operator_node& x, indexed_inputs inputs,
                                  indexed_planner&) -> indexed_form_ptr {
                      return std::make_shared<enumerated>(std::move(inputs.items.front()),
                                                          x.get<std::string>("field"));
                    },
                    .iterator = [](const operator_node& x, const surroundings& at,
                                   iterator_planner& planner) -> iterator_form_ptr {
                      return std::make_shared<enumerated_form>(planner.build_input(x, at),
                                                               x.get<std::string>("field"));
                    },
                    .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
                      return {"a number", 3, plus(facts.item, 3)};
                    },
                    .work = [](const operator_node& x) -> std::string { return x.op; }},
          .comparison = {.options_may_change = true}};
}

} // namespace leat
