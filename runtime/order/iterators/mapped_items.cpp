#include "runtime/order/iterators/iterator_forms.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/sample_maker.hpp"

namespace leat {

namespace {

/// Changes no order: the map goes along with the items, to the worker.
class mapped_form final : public over_items {
public:
  mapped_form(iterator_form_ptr input, std::size_t number)
      : over_items(std::move(input)), number_(number) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return input().begin(lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto sample_key = input().make(from, at, into, with);
    with.map(number_, sample_key, into);
    return sample_key;
  }

private:
  std::size_t number_;
};

} // namespace

iterator_form_ptr mapped_items(iterator_form_ptr input, std::size_t number) {
  return std::make_shared<mapped_form>(std::move(input), number);
}

} // namespace leat
