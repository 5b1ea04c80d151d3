#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace leat {

/// A queue of at most `capacity` values whose memory is reused: a value that leaves passes on its
/// memory, and nothing else, to one that comes later. After T's clear(), a value is like a new one
/// but keeps its memory.
template <class T>
class ring {
public:
  explicit ring(std::size_t capacity) : slots_(capacity), capacity_(capacity) {}

  /// Raises the capacity; does nothing if it is as large already.
  void grow(std::size_t capacity) {
    if (capacity > slots_.size()) {
      // Grows by at least a half, so that many small steps cost no more than a few large ones.
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

  /// Adds a value at the back, which is like a new one. Must not be full().
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
