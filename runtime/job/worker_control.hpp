#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leat {

/// What a loader measured since it began, after a batch.
struct worker_measurement {
  /// Any clock that only goes forward.
  std::chrono::nanoseconds now{0};
  /// Time that the trainer has waited for batches.
  std::chrono::nanoseconds waited{0};
  /// Time that all workers have been busy, added up.
  std::chrono::nanoseconds busy{0};
  /// Workers that there may be now, at least 1.
  std::size_t most = 1;
};

/// Looks for the number of workers that a trainer needs so that it does not wait, and no more. A
/// plain value that is told of times and looks at no clock: the same measurements give the same
/// numbers.
///
/// It judges by windows of some batches and some time. Where the trainer waited in one for more
/// than a twentieth of it, and workers were busy, there are twice as many next (a busy worker more
/// helps; where workers wait, for iterators or for records, none does). Where it did not wait in
/// five windows in a row, and fewer would have been busy for at most three quarters of the time,
/// half of those that are too many go; where it then waits, they come back and stay.
class worker_control {
public:
  /// Begins with as many as there may be: the first batches are waited for in any case.
  explicit worker_control(std::size_t most) : workers_(most) {}

  std::size_t workers() const noexcept { return workers_; }

  /// After every batch, with the time of the same clock. True: a window is over, and `judge` wants
  /// a measurement.
  bool ends_window(std::chrono::nanoseconds now) noexcept;
  /// Returns the number of workers from now on.
  std::size_t judge(const worker_measurement& x) noexcept;

private:
  struct window {
    std::chrono::nanoseconds now{0};
    std::chrono::nanoseconds waited{0};
    std::chrono::nanoseconds busy{0};
    std::uint64_t batches = 0;
  };

  void decide(const worker_measurement& x) noexcept;

  std::size_t workers_;
  /// Fewer are not tried again: the trainer waited then.
  std::size_t least_ = 1;
  bool has_begun_ = false;
  window begin_;
  /// Windows in a row in which fewer would have done.
  std::uint64_t idle_windows_ = 0;
};

} // namespace leat
