#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/worker_record.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace leat {

/// What the workers with one number did, one after the other.
struct worker_sums {
  std::uint64_t rows_dealt = 0;
  std::uint64_t rows_done = 0;
  std::chrono::nanoseconds busy{0};
  /// Of that time, what iterators took.
  std::chrono::nanoseconds iterating{0};
  /// Rows of batches, and probes that were dealt as rows, with what they took.
  std::uint64_t batch_rows = 0;
  std::chrono::nanoseconds on_batches{0};
  std::uint64_t probe_rows = 0;
  std::chrono::nanoseconds on_probes{0};
  std::uint64_t bytes_read = 0;
  std::uint64_t elements_packed = 0;
  std::uint64_t elements_padded = 0;
  /// Time by stage; last, that of everything outside the stages.
  std::vector<std::chrono::nanoseconds> stages = {};
};

/// The records of a loader's workers. Those of workers that are gone are added up, so that a job
/// that replaces and resizes for weeks keeps one entry for each number.
class worker_board {
public:
  /// The clocks of workers that are added from now on count these stages. `tracing` (may be empty)
  /// says how to trace the worker with a number.
  void measure(std::size_t num_stages, std::function<row_tracing(std::size_t number)> tracing);

  /// Adds a record for a new worker with this number and a fresh id. A worker that has released its
  /// record counts as gone.
  std::shared_ptr<worker_record> add(std::size_t number);

  /// Sums over all workers that ever existed, by number.
  std::vector<worker_sums> sums() const;
  /// Number of workers that ever existed.
  std::size_t num_workers() const;
  /// Number of workers that exist, or have gone since the last add().
  std::size_t num_records() const;

  /// The record of the worker that has been busy with one row, or one call for a lane, for longest,
  /// since before `limit_ns`; if any. How long a call runs is known from when it is first seen
  /// here.
  std::shared_ptr<worker_record> busy_since_before(std::int64_t limit_ns) const;

  /// When the longest running row or call began; now if no worker is busy.
  std::int64_t oldest_start_ns() const;

private:
  /// A worker's record, and how many calls it had made when more of them were last seen.
  struct entry {
    std::shared_ptr<worker_record> record;
    mutable std::uint64_t calls = 0;
    mutable std::int64_t seen_ns = 0;

    /// Since when it has been busy with one thing; 0: it is not.
    std::int64_t since_ns(std::int64_t now) const noexcept;
  };

  const entry* longest_busy(std::int64_t now, std::int64_t& since) const LEAT_REQUIRES(mutex_);
  void add_up_gone() LEAT_REQUIRES(mutex_);

  mutable mutex mutex_;
  std::size_t num_stages_ LEAT_GUARDED_BY(mutex_) = 0;
  std::function<row_tracing(std::size_t)> tracing_ LEAT_GUARDED_BY(mutex_);
  std::uint32_t next_id_ LEAT_GUARDED_BY(mutex_) = 0;
  std::vector<entry> records_ LEAT_GUARDED_BY(mutex_);
  /// Sums of workers that are gone.
  std::vector<worker_sums> gone_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
