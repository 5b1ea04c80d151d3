#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace leat {

/// A queue of at most `capacity` values in memory that is reused: values that leave pass on their
/// memory, and nothing else, to those that come. T has a clear(), after which it is like a new one.
template <class T>
class ring {
public:
  explicit ring(std::size_t capacity) : slots_(capacity), capacity_(capacity) {}

  /// From now on there may be this many values, if that is more than before.
  void grow(std::size_t capacity) {
    if (capacity > slots_.size()) {
      // By more than was asked for: many small steps then cost no more than a few large ones.
      std::vector<T> slots(std::max(capacity, slots_.size() + slots_.size() / 2));
      for (std::size_t i = 0; i < slots_.size(); ++i)
        std::swap(slots[i], slots_[index(i)]);
      slots_ = std::move(slots);
      first_ = 0;
    }
    capacity_ = std::max(capacity_, capacity);
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool full() const noexcept { return size_ >= capacity_; }

  /// `i` below size(); 0 is the front.
  T& operator[](std::size_t i) noexcept { return slots_[index(i)]; }
  const T& operator[](std::size_t i) const noexcept { return slots_[index(i)]; }
  T& front() noexcept { return slots_[first_]; }
  const T& front() const noexcept { return slots_[first_]; }

  /// Adds one at the back, like a new one; not when full().
  T& push() noexcept { return slots_[index(size_++)]; }
  void pop() noexcept {
    front().clear();
    first_ = index(1);
    --size_;
  }
  void clear() noexcept {
    while (!empty())
      pop();
  }

private:
  std::size_t index(std::size_t i) const noexcept {
    const auto at = first_ + i;
    return at < slots_.size() ? at : at - slots_.size();
  }

  std::vector<T> slots_;
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

} // namespace leat
