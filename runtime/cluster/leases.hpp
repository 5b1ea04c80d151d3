#pragma once

#include "messages/cluster/incarnation.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace leat {

/// Until when each holder of a seat may believe that it holds it, by the coordinator's clock. A new
/// coordinator does not know which leases the one before it has granted: it assumes that every
/// process got one when this coordinator began.
class leases {
public:
  using time = std::chrono::nanoseconds;

  /// `length`: of every lease.
  leases(time length, time now) : length_(length), assumed_(now + with_drift(length)) {}

  /// Clocks of two machines drift apart by less than 3 %.
  static time with_drift(time x) noexcept { return x + x * 3 / 100; }

  time length() const noexcept { return length_; }
  /// The holder may continue for so long.
  void grant(const incarnation& who, time now, time length) {
    auto& until = until_[who];
    until = std::max(until, now + with_drift(length));
  }
  /// The process, whichever it is, has no lease any more.
  bool has_run_out(const incarnation& who, time now) const {
    const auto found = until_.find(who);
    return now > (found == until_.end() ? assumed_ : found->second);
  }
  /// The process holds no seat, and will never hold one again.
  void forget(const incarnation& who) { until_.erase(who); }

private:
  time length_;
  time assumed_;
  std::map<incarnation, time> until_;
};

} // namespace leat
