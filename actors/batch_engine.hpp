#pragma once

#include "actors/worker_crew.hpp"
#include "messages/fwd.hpp"
#include "runtime/base/call_record.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/lending/row_lender.hpp"
#include "runtime/rows/batch_memory.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/job_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace leat {

/// The parts that an engine is made of.
struct engine_parts {
  std::shared_ptr<const job_plan> plan;
  /// It can be started over at any time: see `job_order`.
  std::unique_ptr<batch_order> order;
  /// The most rows that a batch has.
  std::size_t rows = 0;
  std::shared_ptr<worker_crew> crew;
  /// Records the phases of slots, and how long others wait and work.
  std::shared_ptr<job_metrics> metrics;
  /// Records what the order's iterators call.
  std::shared_ptr<call_record> calls;
  /// See loader_options::batch_memory.
  tensor_memory memory;
  /// next() is called by the trainer, whose waits count.
  bool is_for_trainer = true;
  /// Lends rows to helpers; null: all are made here. An engine begins and ends it.
  std::shared_ptr<row_lender> lender = {};
};

/// Makes the batches of a loader that has begun, in order: with actors, or in the caller's thread.
/// next() and make_room() are for one thread; the others for the trainer's, which may be another
/// one, unless a member says "any thread".
class batch_engine : not_copied {
public:
  virtual ~batch_engine() = default;

  /// Makes the slots that are missing while this many leases are out: leases must not use up the
  /// slots of batches that are made ahead. Throws `errc::no_resources`, and may then be called
  /// again.
  virtual void make_room(std::size_t leases) = 0;
  /// The next slot, after make_room: a batch, the job's end, or a failure. Throws patience_ended,
  /// and may then be called again; `errc::interrupted` instead of a wait, once the plan's
  /// `cancelled` is true; `errc::stuck`, and what the order's iterators throw in the caller's
  /// thread.
  virtual slot_ptr next() = 0;
  /// Takes a slot back for a later batch. Any thread, also after shutdown().
  virtual void recycle(slot_ptr slot) = 0;
  /// Epochs before this one are over: work that is left of them is not needed.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// The job starts over: `run` is its new number. Slots of earlier runs may still arrive.
  virtual void rewind(std::uint64_t run) = 0;
  /// Not for an engine without workers.
  virtual void resize(std::size_t workers) = 0;
  /// Ends a next() that waits for others: it throws `errc::interrupted`, as all later ones may.
  /// Call it once the plan's `cancelled` is true. Any thread.
  virtual void interrupt() noexcept = 0;
  /// Ends actors and their threads. May be called again, and by another thread once next() has been
  /// interrupted: other calls then do nothing. False where a function of the pipeline does not
  /// return: its thread, and all that it may use, then lives as long as the process.
  virtual bool shutdown() noexcept = 0;
};

} // namespace leat
