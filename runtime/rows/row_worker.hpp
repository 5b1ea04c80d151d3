#pragma once

#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/row_runner.hpp"

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

/// What makes rows, in one thread: reads, decodes and augments them in groups, runs lanes, and
/// records times and counts.
class row_worker {
public:
  enum class verdict { going_on, batch_complete, cancelled, dead };

  row_worker() = default;

  /// Runs rows that this worker owns, which may be turns of lanes, and records their times and
  /// counts: those from `first` to just before `end`, or those of the list.
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

private:
  template <class RowAt>
  verdict run_rows(batch_slot& slot, std::size_t n, RowAt row_at);
  template <class RowAt>
  verdict run_turns(batch_slot& slot, std::size_t n, RowAt row_at);
  /// Until it can go no further. False if the worker dies over one of the lane's items on purpose.
  bool run_lane(const row_request& turn);
  template <class RowAt>
  verdict run_group(batch_slot& slot, std::size_t n, RowAt row_at);
  /// False if the worker dies over the row on purpose.
  bool begin_row(batch_slot& slot, std::size_t row);
  bool dies_over(const batch_slot& slot, std::size_t row) const noexcept;
  template <class RowAt>
  bool run_together(batch_slot& slot, std::size_t n, RowAt row_at);

  /// Of a probe in a lane's turn.
  row_result seen_;
  std::size_t group_ = 1;
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

} // namespace leat
