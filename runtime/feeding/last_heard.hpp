#pragma once

#include "runtime/base/metrics.hpp"

#include <cstdint>
#include <utility>

namespace leat {

/// When a peer was heard of. A large record takes its time on a slow way: each byte counts.
class last_heard {
public:
  void hear() noexcept { at_ = steady_ns(); }

  /// For how many nanoseconds it was not, now that so many bytes have come.
  std::int64_t silence(std::uint64_t received, std::int64_t now) noexcept {
    if (std::exchange(received_, received) != received)
      at_ = now;
    return now - at_;
  }

private:
  std::int64_t at_ = steady_ns();
  std::uint64_t received_ = 0;
};

} // namespace leat
