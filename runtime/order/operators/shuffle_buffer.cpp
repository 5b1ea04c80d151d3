#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/operators/drawn_list.hpp"
#include "runtime/order/order.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <string>
#include <utility>
#include <vector>

namespace leat {

pipeline pipeline::shuffle_buffer(std::uint64_t n, std::uint64_t seed) const {
  if (n < 2)
    refuse_argument("shuffle_buffer", std::to_string(n) + " samples", "at least 2 per lane");
  check_range("shuffle_buffer", n, 2, max_buffered);
  return then({.op = "shuffle_buffer", .options = {{"n", n}, {"seed", seed}}});
}

namespace {

class buffer_iterator final : public iterator_over {
public:
  buffer_iterator(const iterator_form& input, const lane_context& lane, const lap& g,
                  std::uint64_t capacity, const draws& draws)
      : iterator_over(input.begin(lane, g)), items_(input), capacity_(capacity), draws_(draws) {}

  pulled pull(item& into) override {
    while (!ended_ && order_.size() < capacity_) {
      item next;
      const auto result = input().pull(next);
      if (result == pulled::blocked)
        return result;
      ended_ = result == pulled::end;
      if (!ended_)
        hold(std::move(next));
    }
    if (order_.empty())
      return pulled::end;
    const auto drawn = order_.take(draws_.below(order_.size(), k_++));
    free_.push_back(drawn);
    into.append(std::move(held_[drawn]));
    held_[drawn].clear();
    return pulled::item;
  }

  void save(item& to) const override {
    to.add(k_);
    to.add(ended_ ? 1 : 0);
    to.add(order_.size());
    order_.for_each([&](std::uint32_t i) { to.hold(held_[i]); });
    iterator_over::save(to);
  }

  void load(item_reader& from) override {
    k_ = from.number();
    ended_ = from.number(1) == 1;
    for (auto left = from.number(capacity_, "a buffer of"); left > 0; --left)
      hold(held_item(items_, from));
    iterator_over::load(from);
  }

private:
  /// The buffer only holds references: samples that were made are dropped, and made again later.
  void hold(item x) {
    x.drop_payloads();
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(held_.size()));
      held_.emplace_back();
    }
    const auto place = free_.back();
    order_.push_back(place);
    free_.pop_back();
    held_[place] = std::move(x);
  }

  const iterator_form& items_;
  std::uint64_t capacity_;
  draws draws_;
  std::uint64_t k_ = 0;
  bool ended_ = false;
  std::vector<item> held_;
  /// Indices of the items held, in the order in which they came: moving indices is cheap.
  drawn_list order_;
  std::vector<std::uint32_t> free_;
};

class buffer_form final : public over_items {
public:
  buffer_form(iterator_form_ptr input, std::uint64_t n, std::uint64_t seed, std::uint64_t ordinal)
      : over_items(std::move(input)), n_(n), seed_(seed), ordinal_(ordinal) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<buffer_iterator>(
        input(), lane, g, share(n_, lane.lane, lane.lanes),
        draws{"shuffle_buffer", seed_, ordinal_, g, lane.lane});
  }

private:
  std::uint64_t n_;
  std::uint64_t seed_;
  std::uint64_t ordinal_;
};

state_sizes buffer_sizes(const operator_node& x, const graph_facts& facts) {
  const auto held = share(x.get<std::uint64_t>("n"), 0, facts.lanes);
  state_sizes sizes{.what = "up to " + counted(held, "item"), .bytes = {}, .item = facts.item};
  if (facts.item)
    sizes.bytes = 5 + held * (*facts.item + 1);
  return sizes;
}

iterator_form_ptr build_buffer(const operator_node& x, const surroundings& at,
                               iterator_planner& planner) {
  auto input = planner.build_input(x, at);
  const auto n = x.get<std::uint64_t>("n");
  const auto seed = x.get<std::uint64_t>("seed");
  const auto lanes = planner.lanes();
  const auto got = std::to_string(n) + " samples over " + std::to_string(lanes) + " lanes";
  if ((n - 1) / lanes >= UINT32_MAX)
    planner.refuse(x, got, "at most 2^32 - 1 per lane");
  if (n / 2 < lanes)
    planner.refuse(x, got, "at least 2 per lane: " + std::to_string(2 * lanes));
  planner.common().see_seed(seed);
  return std::make_shared<buffer_form>(std::move(input), n, seed, planner.take_ordinal(x));
}

} // namespace

operator_type shuffle_buffer_operator() {
  return {
      .word = "shuffle_buffer",
      .role = operator_role::step,
      .options = {plain("n", option_type::number), {"seed", option_type::number, std::uint64_t{0}}},
      .make =
          [](const operator_node& call, const std::vector<pipeline>& on) {
            return on[0].shuffle_buffer(call.get<std::uint64_t>("n"),
                                        call.get<std::uint64_t>("seed"));
          },
      .traits = {.drops_made_samples = true},
      .forms = {.iterator = build_buffer, .state_version = 1},
      .graph = {.state = buffer_sizes}};
}

} // namespace leat
