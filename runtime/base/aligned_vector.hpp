#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace leat {

/// Allocates memory that is aligned for the vector instructions of any processor.
template <class T>
struct aligned_allocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  aligned_allocator() = default;
  template <class U>
  aligned_allocator(const aligned_allocator<U>&) noexcept {} // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  void deallocate(T* x, std::size_t) noexcept { ::operator delete(x, alignment); }

  template <class U>
  bool operator==(const aligned_allocator<U>&) const noexcept {
    return true;
  }
};

/// A vector whose first element is aligned for all vector instructions.
template <class T>
using aligned_vector = std::vector<T, aligned_allocator<T>>;

/// Rounds up to a multiple of `to`, so that rows consist of whole vectors.
constexpr std::size_t round_up(std::size_t x, std::size_t to) noexcept {
  return (x + to - 1) / to * to;
}

} // namespace leat
