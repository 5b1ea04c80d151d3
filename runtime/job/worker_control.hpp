#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace leat {

/// What a loader has measured since it began, after a batch.
struct worker_measurement {
  /// Any clock that only goes forward.
  std::chrono::nanoseconds now{0};
  /// Time that the trainer has waited for batches.
  std::chrono::nanoseconds waited{0};
  /// Time that all workers have been busy, added up.
  std::chrono::nanoseconds busy{0};
  /// Most workers that there may be now, at least 1.
  std::size_t most = 1;
};

/// Finds the number of workers that a trainer needs so that it does not wait, and no more. A plain
/// value that is given the time and reads no clock: the same measurements give the same numbers.
///
/// It judges by windows of some batches and some time. If the trainer waited for more than a
/// twentieth of a window while workers were busy, the number is doubled (more workers help if the
/// present ones are busy, but not if they wait themselves, for iterators or for records). If it did
/// not wait in five windows in a row, and fewer workers would have been busy for at most three
/// quarters of the time, half of the surplus goes; if the trainer then waits, they come back and
/// stay.
class worker_control {
public:
  /// Begins with as many as there may be: the first batches are waited for in any case.
  explicit worker_control(std::size_t most) : workers_(most) {}

  std::size_t workers() const noexcept { return workers_; }

  /// Called after every batch, with the time of the same clock. True if a window is over, and
  /// `judge` wants a measurement.
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
  /// Lower numbers are not tried again: the trainer waited then.
  std::size_t least_ = 1;
  bool has_begun_ = false;
  window begin_;
  /// Windows in a row in which fewer workers would have sufficed.
  std::uint64_t idle_windows_ = 0;
};

} // namespace leat
