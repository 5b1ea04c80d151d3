#pragma once

#include "runtime/rows/batch_slot.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

/// Where a job stands: at its next batch.
struct job_position {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;

  friend bool operator==(const job_position&, const job_position&) = default;
  friend auto operator<=>(const job_position&, const job_position&) = default; // NOLINT: no pointer
};

/// Says what the rows of one rank's batches are, one batch after the other. A plain value of one
/// thread.
class batch_order {
public:
  batch_order() = default;
  virtual ~batch_order() = default;
  batch_order(const batch_order&) = delete;
  batch_order& operator=(const batch_order&) = delete;

  /// Gives the next batch, the job's end, or a failure. False: not before workers have probed more
  /// items, or others have run (see `wants_to_run`).
  virtual bool open(planned_batch& batch) = 0;
  /// The next batch to be opened is the first of this epoch, unless the order is in or past it
  /// already.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// The next batch to be opened is the first of the job, in a new run of it. Batches opened before
  /// are of no use any more. Only for orders that are made for it.
  virtual void rewind(std::uint64_t /*run*/) {}

  // For pipelines whose operators probe content:
  /// Gives items that workers should probe, at most `most`. False if none wait.
  virtual bool open_probe(planned_batch& /*probe*/, std::size_t /*most*/) { return false; }
  /// Takes over what the workers found.
  virtual void close_probe(batch_slot&) {}
  /// `open` could make progress at once, but others should have their turn.
  virtual bool wants_to_run() const noexcept { return false; }
  /// Blocks until what `open` needs from a once source is there, or until `stop` is true and the
  /// source was woken. False if it needs nothing from one.
  virtual bool wait_for_feed(const std::atomic<bool>& /*stop*/) { return false; }
};

} // namespace leat
