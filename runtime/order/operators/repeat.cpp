#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/pipeline/operator_type.hpp"

#include <string>

namespace leat {

pipeline pipeline::repeat(std::uint64_t n) const {
  if (n == 0)
    refuse_argument("repeat", "0 times", "at least 1");
  return then({.op = "repeat", .options = {{"n", n}}});
}

namespace {

class repeated final : public indexed_over {
public:
  repeated(indexed_form_ptr input, std::uint64_t times)
      : indexed_over(std::move(input)), times_(times) {}

  std::uint64_t size() const noexcept override { return input().size() * times_; }

protected:
  place source_of(const place& at, order_cache&) const override {
    const auto once = input().size();
    return {at.item % once, at.epoch, at.pass * times_ + at.item / once};
  }

private:
  std::uint64_t times_;
};

lap pass_of(const lap& g, std::uint64_t times, std::uint64_t repetition) {
  return {g.epoch, g.pass * times + repetition};
}

class repeat_iterator final : public iterator {
public:
  repeat_iterator(const iterator_form& input, std::uint64_t times, const lane_context& lane,
                  const lap& g)
      : input_(input), times_(times), lane_(lane), when_(g) {
    begin();
  }

  pulled pull(item& into) override {
    const auto before = into.size();
    for (;;) {
      into.add(repetition_);
      const auto result = now_->pull(into);
      if (result == pulled::item) {
        empty_ = 0;
        gave_ = true;
        return result;
      }
      into.cut(before);
      if (result == pulled::blocked || repetition_ + 1 >= times_)
        return result;
      if (!lane_.run->may_go_on())
        return pulled::blocked;
      count_if_empty();
      ++repetition_;
      begin();
    }
  }
  void save(item& to) const override {
    to.add(repetition_);
    now_->save(to);
  }
  void load(item_reader& from) override {
    repetition_ = from.number_below(times_, "repetition");
    begin();
    now_->load(from);
  }

private:
  /// Throws if there are too many of them: the search would practically never end.
  void count_if_empty() {
    if (!gave_ && ++empty_ == max_empty_passes)
      throw_error(errc::empty_epoch, "repeat",
                  "nothing in " + std::to_string(empty_) + " consecutive repetitions in lane "
                      + std::to_string(lane_.lane),
                  "an item from time to time, or fewer repetitions");
    gave_ = false;
  }

  void begin() { now_ = input_.begin(lane_, pass_of(when_, times_, repetition_)); }

  const iterator_form& input_;
  std::uint64_t times_;
  lane_context lane_;
  lap when_;
  std::uint64_t repetition_ = 0;
  bool gave_ = false;       // in this repetition
  std::uint64_t empty_ = 0; // consecutive repetitions without an item so far; not part of the state
  std::unique_ptr<iterator> now_;
};

class repeat_form final : public over_numbered<iterator_form> {
public:
  repeat_form(iterator_form_ptr input, std::uint64_t times)
      : over_numbered(std::move(input)), times_(times) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<repeat_iterator>(input(), times_, lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    return over_numbered::make(from, inside(from, at), into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    over_numbered::append_id(from, inside(from, at), orders, to);
  }

private:
  item_place inside(item_reader& from, const item_place& at) const {
    return {at.lane, at.lanes, pass_of(at.when, times_, from.number_below(times_, "repetition"))};
  }

  std::uint64_t times_;
};

indexed_form_ptr repeat_indexed(const operator_node& x, indexed_inputs inputs, indexed_planner&) {
  const auto n = x.get<std::uint64_t>("n");
  auto& input = inputs.items.front();
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(input->size(), n, &size))
    refuse_size(x);
  return std::make_shared<repeated>(std::move(input), n);
}

iterator_form_ptr build_repeat(const operator_node& x, const surroundings& at,
                               iterator_planner& planner) {
  const auto n = x.get<std::uint64_t>("n");
  const auto last = planner.last_pass_below(x, at, n);
  return std::make_shared<repeat_form>(planner.build_input(x, {last, at.repeats || n > 1}), n);
}

} // namespace

operator_type repeat_operator() {
  return {.word = "repeat",
          .role = operator_role::step,
          .options = {plain("n", option_type::number)},
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].repeat(call.get<std::uint64_t>("n"));
              },
          .traits = {.passes = [](const operator_node& x) { return x.get<std::uint64_t>("n"); }},
          .forms = {.indexed = repeat_indexed, .iterator = build_repeat, .state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts& facts) -> state_sizes {
            return {"the repetition", 1, plus(facts.item, 1)};
          }}};
}

} // namespace leat
