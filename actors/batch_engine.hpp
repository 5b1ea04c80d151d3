#pragma once

#include "actors/worker_crew.hpp"
#include "messages/fwd.hpp"
#include "runtime/base/call_record.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/job_plan.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace leat {

/// What an engine is made of.
struct engine_parts {
  std::shared_ptr<const job_plan> plan;
  /// To be begun anew at any time: see `rewindable_order`.
  std::unique_ptr<batch_order> order;
  /// The most rows of a batch.
  std::size_t rows = 0;
  std::shared_ptr<worker_crew> crew;
  /// Told what becomes of slots, and how long others wait and work.
  std::shared_ptr<job_metrics> metrics;
  /// Told what the order's iterators call.
  std::shared_ptr<call_record> calls;
};

/// Makes the batches of a loader that has begun, in order: with actors, or in the caller's thread.
/// For the trainer's thread, but where it says any.
class batch_engine {
public:
  batch_engine() = default;
  virtual ~batch_engine() = default;
  batch_engine(const batch_engine&) = delete;
  batch_engine& operator=(const batch_engine&) = delete;

  /// Makes the slots that are missing while so many leases are out: these must not eat into the
  /// batches that are made ahead. Throws `errc::no_resources`, and may be called again.
  virtual void make_room(std::size_t leases) = 0;
  /// The next slot, after make_room: a batch, the job's end, or a failure. Throws `errc::stuck`,
  /// and what the order's iterators throw in the caller's thread.
  virtual slot_ptr next() = 0;
  /// Takes a slot back for a later batch. Any thread, also after shutdown().
  virtual void recycle(slot_ptr slot) = 0;
  /// What is left of epochs before this one is not needed.
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  /// The job begins anew, as this run of it. Slots of earlier runs may still come.
  virtual void rewind(std::uint64_t run) = 0;
  /// Not for an engine without workers.
  virtual void resize(std::size_t workers) = 0;
  /// Ends a next() that waits for others: it throws `errc::interrupted`, as all later ones may.
  /// Once the plan's `cancelled` is true. Any thread.
  virtual void interrupt() noexcept = 0;
  /// Ends actors and their threads.
  virtual void shutdown() noexcept = 0;
};

} // namespace leat
