#include "runtime/storage/shared_bytes.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Capacities are multiples of this, so that a buffer that has served one block mostly suits the
/// next.
constexpr std::size_t unit = std::size_t{16} << 10;

} // namespace

std::span<std::byte> shared_bytes::room(std::size_t bytes) {
  if (const auto needed = size_ + bytes + slack; needed > capacity_) {
    const auto capacity = (std::max(needed, 2 * size_) + unit - 1) / unit * unit;
    auto larger = std::make_unique<std::byte[]>(capacity); // initialized, as the slack may be read
    std::copy_n(bytes_.get(), size_, larger.get());
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }
  return {bytes_.get() + size_, bytes};
}

void shared_bytes::remove_front(std::size_t bytes) noexcept {
  std::copy(bytes_.get() + bytes, bytes_.get() + size_, bytes_.get());
  size_ -= bytes;
}

} // namespace leat
