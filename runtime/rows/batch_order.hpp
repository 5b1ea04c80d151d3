#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <leat/job_position.hpp>

#include <cstddef>
#include <cstdint>

namespace leat {

/// Says what the rows of one rank's batches are, one batch after the other. A plain value of one
/// thread.
class batch_order : not_copied {
public:
  virtual ~batch_order() = default;

  /// Gives the next batch, the job's end, or a failure. False: not before workers have probed more
  /// items or run lanes, or others have run (see `wants_to_run`).
  virtual bool open(planned_batch& batch) = 0;
  /// The next batch to be opened is the first of this epoch, unless the order is in or past it
  /// already.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// The next batch to be opened; after the job's end, the first of an epoch that it does not have.
  virtual job_position next() const noexcept = 0;
  /// What is known of that batch's epoch now, without running anything; nothing of an epoch that
  /// the job does not have. While no other epoch begins, it is what the last batch said, or more
  /// if `open` has run since.
  virtual epoch_horizon horizon() const = 0;
  /// The next batch to be opened is the first of the job, in a new run of it. Batches opened before
  /// are of no use any more. Only for orders that are made for it.
  virtual void rewind(std::uint64_t /*run*/) {}

  // For pipelines whose operators probe content:
  /// Gives items that workers should probe, at most `most`. False if none wait.
  virtual bool open_probe(planned_batch& /*probe*/, std::size_t /*most*/) { return false; }
  /// Takes over what the workers found.
  virtual void close_probe(batch_slot&) {}
  // For orders that lend their lanes:
  /// Gives lanes that someone should run, one a row: see row_request::lane. Such a row is no item.
  /// If there are no fewer lanes than `workers`, who runs one also probes its items. False if no
  /// lane is to run.
  virtual bool open_turns(planned_batch& /*turns*/, std::size_t /*workers*/) { return false; }
  /// Takes the lanes back.
  virtual void close_turns(batch_slot&) {}
  /// A once source may have what a lane needs.
  virtual void wake() {}

  /// `open` could make progress at once, but others should have their turn.
  virtual bool wants_to_run() const noexcept { return false; }
  /// Blocks until what `open` needs from a once source is there, or until `stop` is true and the
  /// source was woken. False if it needs nothing from one.
  virtual bool wait_for_feed(const std::atomic<bool>& /*stop*/) { return false; }
};

} // namespace leat
