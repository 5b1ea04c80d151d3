#pragma once

// What take and skip have in common.

#include "runtime/order/indexed_form.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/order.hpp"

#include <cstdint>
#include <memory>
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

/// Counts items up to the lane's share. State: the count.
class counting_iterator : public iterator_over {
public:
  counting_iterator(std::unique_ptr<iterator> input, std::uint64_t most)
      : iterator_over(std::move(input)), most_(most) {}

  void save(item& to) const final {
    to.add(count_);
    iterator_over::save(to);
  }
  void load(item_reader& from) final {
    count_ = from.number(most_, "item");
    iterator_over::load(from);
  }

protected:
  bool full() const noexcept { return count_ == most_; }
  void count() noexcept { ++count_; }

private:
  std::uint64_t most_;
  std::uint64_t count_ = 0;
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
