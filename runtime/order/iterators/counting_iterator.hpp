#pragma once

#include "runtime/order/iterators/over_input.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace leat {

/// Counts the items that it gives, up to `most`. State: the count.
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
  std::uint64_t counted() const noexcept { return count_; }
  bool full() const noexcept { return count_ == most_; }
  void count() noexcept { ++count_; }

private:
  std::uint64_t most_;
  std::uint64_t count_ = 0;
};

} // namespace leat
