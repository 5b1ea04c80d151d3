#include "runtime/order/iterators/stages.hpp"
#include "runtime/order/row_maker.hpp"

#include <utility>

namespace leat {

namespace {

class closed_program final : public program {
public:
  closed_program(const lane_context& lane, std::uint64_t size)
      : items_(share(size, lane.lane, lane.lanes)) {}

  pulled pull(item& into) override {
    if (next_ >= items_)
      return pulled::end;
    into.add(next_++);
    return pulled::item;
  }
  void save(item& to) const override { to.add(next_); }
  void load(item_reader& from) override { next_ = from.number(items_, "item"); }

private:
  std::uint64_t items_;
  std::uint64_t next_ = 0;
};

class closed_stage final : public item_stage {
public:
  explicit closed_stage(sequence_ptr items) : items_(std::move(items)) {}

  std::unique_ptr<program> begin(const lane_context& lane, const generation&) const override {
    return std::make_unique<closed_program>(lane, items_->size());
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     row_maker& with) const override {
    return items_->make(sample_at(from, at), into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    items_->append_id(sample_at(from, at), orders, to);
  }

private:
  place sample_at(item_reader& from, const item_place& at) const {
    const auto k = from.number_below(share(items_->size(), at.lane, at.lanes), "item");
    return {at.lane + k * at.lanes, at.when.era, at.when.pass};
  }

  sequence_ptr items_;
};

} // namespace

item_stage_ptr closed_part(sequence_ptr items) {
  return std::make_shared<closed_stage>(std::move(items));
}

} // namespace leat
