#pragma once

#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/job/core_budget.hpp"
#include "runtime/job/worker_control.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace leat {

/// Finds the number of workers for one loader, within its share of the process's cores. One thread.
class automatic_workers : not_copied {
public:
  explicit automatic_workers(core_shares& shares)
      : shares_(shares), member_(shares.join()), control_(shares.share(member_, steady_ns())) {}
  ~automatic_workers() { shares_.leave(member_); }

  std::size_t number() const noexcept { return control_.workers(); }

  /// Called after every batch. `measure` returns the time that the trainer has waited, and the time
  /// that workers have been busy; it is called now and then. Returns a number if the number of
  /// workers should change.
  template <class Measure>
  std::optional<std::size_t> after_batch(Measure measure) {
    const std::chrono::nanoseconds now{steady_ns()};
    if (!control_.ends_window(now))
      return std::nullopt;
    const auto before = control_.workers();
    const auto [waited, busy] = measure();
    const auto most = shares_.share(member_, now.count());
    const auto after = control_.judge({now, waited, busy, most});
    return after == before ? std::nullopt : std::optional{after};
  }

private:
  core_shares& shares_;
  const std::uint64_t member_;
  worker_control control_;
};

} // namespace leat
