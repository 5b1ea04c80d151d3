#include "runtime/order/iterators/parts.hpp"
#include "runtime/order/sample_maker.hpp"

#include <utility>

namespace leat {

namespace {

class indexed_part_iterator final : public iterator {
public:
  indexed_part_iterator(const lane_context& lane, std::uint64_t size)
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

class indexed_part_form final : public iterator_form {
public:
  explicit indexed_part_form(indexed_form_ptr items) : items_(std::move(items)) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap&) const override {
    return std::make_unique<indexed_part_iterator>(lane, items_->size());
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    return items_->make(sample_at(from, at), into, with);
  }
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const override {
    items_->append_id(sample_at(from, at), orders, to);
  }
  void recall(item_reader& from, restored_content&) const override { from.number(); }

private:
  place sample_at(item_reader& from, const item_place& at) const {
    const auto k = from.number_below(share(items_->size(), at.lane, at.lanes), "item");
    return {at.lane + k * at.lanes, at.when.epoch, at.when.pass};
  }

  indexed_form_ptr items_;
};

} // namespace

iterator_form_ptr indexed_part(indexed_form_ptr items) {
  return std::make_shared<indexed_part_form>(std::move(items));
}

} // namespace leat
