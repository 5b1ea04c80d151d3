#pragma once

// What take and skip have in common.

#include "runtime/order/indexed_form.hpp"
#include "runtime/order/iterators/counting_iterator.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/order.hpp"

#include <cstdint>
#include <utility>

namespace leat {

/// `size` items of the input from `first` on.
class stretch final : public indexed_over {
public:
  stretch(indexed_form_ptr input, std::uint64_t first, std::uint64_t size)
      : indexed_over(std::move(input)), first_(first), size_(size) {}

  std::uint64_t size() const noexcept override { return size_; }

protected:
  place source_of(const place& at, order_cache&) const override {
    return {at.item + first_, at.epoch, at.pass};
  }

private:
  std::uint64_t first_;
  std::uint64_t size_;
};

/// `n` is a total over all lanes.
class limit_form : public over_items {
public:
  limit_form(iterator_form_ptr input, std::uint64_t n) : over_items(std::move(input)), n_(n) {}

protected:
  std::uint64_t share_of(const lane_context& lane) const {
    return share(n_, lane.lane, lane.lanes);
  }

private:
  std::uint64_t n_;
};

} // namespace leat
