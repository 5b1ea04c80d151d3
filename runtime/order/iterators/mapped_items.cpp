#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/iterators/stages.hpp"
#include "runtime/order/row_maker.hpp"

namespace leat {

namespace {

/// Changes no order: the map goes along with the items, to the worker.
class mapped_stage final : public over_items {
public:
  mapped_stage(item_stage_ptr input, std::size_t number)
      : over_items(std::move(input)), number_(number) {}

  std::unique_ptr<program> begin(const lane_context& lane, const generation& g) const override {
    return input().begin(lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     row_maker& with) const override {
    const auto birth = input().make(from, at, into, with);
    with.map(number_, birth, into);
    return birth;
  }

private:
  std::size_t number_;
};

} // namespace

item_stage_ptr mapped_items(item_stage_ptr input, std::size_t number) {
  return std::make_shared<mapped_stage>(std::move(input), number);
}

} // namespace leat
