#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/row_runner.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace leat {

/// Fault drills of one worker.
struct worker_drill {
  std::chrono::milliseconds slow_by{0};
  /// Dies at the first row at or after this position.
  std::optional<std::uint64_t> die_at;
};

struct worker_state {
  static inline const char* name = "worker";

  enum class verdict { going_on, batch_complete, cancelled, dead };

  worker_state() = default;

  /// Runs rows that this worker owns, and records their times and counts: those from `first` to
  /// just before `end`, or those of the list.
  verdict run(batch_slot& slot, std::size_t first, std::size_t end);
  verdict run(batch_slot& slot, std::span<const std::uint32_t> rows);

  /// Rows to take at a time: one, or several if rows are so small that taking them costs as much as
  /// making them.
  std::size_t group() const noexcept;

  /// No row follows for now: called after the last row of a chunk.
  void rest();

  std::shared_ptr<const job_plan> plan;
  std::shared_ptr<worker_record> record;
  std::optional<row_runner> function;
  /// Where the fields of the current row go.
  row_places places;
  /// Of rows that are made together.
  std::vector<row_places> places_together;
  std::vector<row_runner::work> together;
  worker_drill drill;
  batcher_actor batcher;

private:
  template <class RowAt>
  verdict run_group(batch_slot& slot, std::size_t n, RowAt row_at);
  /// False if the worker dies over the row on purpose.
  bool begin_row(batch_slot& slot, std::size_t row);
  bool dies_over(const batch_slot& slot, std::size_t row) const noexcept;
  template <class RowAt>
  bool run_together(batch_slot& slot, std::size_t n, RowAt row_at);

  /// After a group that ended `now`.
  void let_others_run(std::int64_t now) noexcept;

  std::size_t group_ = 1;
  std::int64_t turn_began_ns_ = 0;
  /// Rows since the last rest, for a trace.
  struct {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t epoch = 0;
    std::uint64_t step = 0;
    std::uint64_t rows = 0;
  } shown_;
  /// Groups of the largest size since one was measured.
  std::size_t unmeasured_ = 0;
};

/// Everything that a new worker needs.
struct worker_config {
  std::shared_ptr<const job_plan> plan;
  std::shared_ptr<worker_record> record;
  worker_drill drill;
  gate_token alive;
};

/// Spawn detached: functions block. Lives until `retire_atom`, an exit message, or a death on
/// purpose.
worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self,
                                   const worker_config& config, const batcher_actor& batcher);

} // namespace leat
