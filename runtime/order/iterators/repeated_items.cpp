#include "runtime/base/limits.hpp"
#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/iterators/over_input.hpp"

#include <leat/error.hpp>

#include <string>

namespace leat {

namespace {

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
  /// Throws where there are too many of them: it would be searched as good as for ever.
  void count_if_empty() {
    if (!gave_ && ++empty_ == max_empty_passes)
      throw error(errc::empty_epoch, {.stage = "repeat",
                                      .got = "nothing in " + std::to_string(empty_)
                                             + " repetitions, one behind the other, in lane "
                                             + std::to_string(lane_.lane),
                                      .needed = "an item now and then, or fewer repetitions"});
    gave_ = false;
  }

  void begin() { now_ = input_.begin(lane_, pass_of(when_, times_, repetition_)); }

  const iterator_form& input_;
  std::uint64_t times_;
  lane_context lane_;
  lap when_;
  std::uint64_t repetition_ = 0;
  bool gave_ = false; // in this repetition
  std::uint64_t empty_ =
      0; // repetitions that have come without an item since; no part of the state
  std::unique_ptr<iterator> now_;
};

class repeat_form final : public over_items {
public:
  repeat_form(iterator_form_ptr input, std::uint64_t times)
      : over_items(std::move(input)), times_(times) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return std::make_unique<repeat_iterator>(input(), times_, lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    return over_items::make(from, inside(from, at), into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    over_items::append_id(from, inside(from, at), orders, to);
  }

private:
  item_place inside(item_reader& from, const item_place& at) const {
    return {at.lane, at.lanes, pass_of(at.when, times_, from.number_below(times_, "repetition"))};
  }

  std::uint64_t times_;
};

} // namespace

iterator_form_ptr repeated_items(iterator_form_ptr input, std::uint64_t times) {
  return std::make_shared<repeat_form>(std::move(input), times);
}

} // namespace leat
