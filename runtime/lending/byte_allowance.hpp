#pragma once

#include "runtime/base/not_copied.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace leat {

/// Memory that several connections share for what is larger than their windows: no more than a
/// number of bytes for all of them together, or one thing of any size. Copies are the same one. Any
/// thread.
class byte_allowance {
public:
  explicit byte_allowance(std::uint64_t most) : used_(std::make_shared<counter>(0)), most_(most) {}

  /// Takes so many bytes until the last copy of what is returned is gone; null: they are not left.
  std::shared_ptr<void> take(std::uint64_t bytes) const {
    // Made first: what is taken is given back even if there is no memory for the pointer.
    const auto taken = std::make_shared<share>(used_);
    auto used = used_->load(std::memory_order_relaxed);
    do {
      if (used > 0 && (bytes > most_ || used > most_ - bytes))
        return nullptr;
    } while (!used_->compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    taken->bytes = bytes;
    return taken;
  }
  std::uint64_t used() const noexcept { return used_->load(std::memory_order_relaxed); }

private:
  using counter = std::atomic<std::uint64_t>;
  struct share : not_copied {
    explicit share(std::shared_ptr<counter> x) : of(std::move(x)) {}
    ~share() { of->fetch_sub(bytes, std::memory_order_relaxed); }

    std::shared_ptr<counter> of;
    std::uint64_t bytes = 0;
  };

  std::shared_ptr<counter> used_;
  std::uint64_t most_;
};

} // namespace leat
