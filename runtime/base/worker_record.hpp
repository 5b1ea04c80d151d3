#pragma once

#include "runtime/base/call_record.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/trace.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace leat {

/// How a worker's rows are shown in a trace.
struct row_tracing {
  trace_track* track = nullptr;
  /// Names of spans: for rows that are dealt together, for one row, for a lane's turn, and for each
  /// stage.
  std::uint32_t rows = 0;
  std::uint32_t row = 0;
  std::uint32_t turn = 0;
  std::vector<std::uint32_t> stages = {};
};

/// Measures where the time of a thread's rows goes, by stage. Only some rows are measured, and
/// stand for all, since reading the clock costs as much as a small row. One thread writes; any
/// thread may call `time_in`.
class stage_clock {
public:
  /// The number of stages. It is also the index of all time outside the stages, in which rows are
  /// written and hashed.
  std::size_t num_stages() const noexcept { return times_.empty() ? 0 : times_.size() - 1; }

  /// Called before the thread begins.
  void prepare(std::size_t num_stages, row_tracing tracing) {
    times_ = std::vector<std::atomic<std::int64_t>>(num_stages + 1);
    of_row_.assign(num_stages + 1, 0);
    tracing_ = std::move(tracing);
  }

  /// Begins to measure a row.
  void begin(std::int64_t now) noexcept {
    is_on_ = !times_.empty();
    begin_ = since_ = now;
    stage_ = num_stages();
    switches_ = 0;
  }
  /// An index that `prepare` did not announce counts as outside the stages.
  void enter(std::size_t stage, std::int64_t now) noexcept {
    if (is_on_)
      turn_to(std::min(stage, num_stages()), now);
  }
  void enter(std::size_t stage) noexcept {
    if (is_on_)
      enter(stage, steady_ns());
  }
  /// From here on, time counts as outside the stages.
  void leave() noexcept { enter(num_stages()); }
  /// Ends the row, which stands for `rows` rows. `epoch` and `position` are shown in the trace.
  void end(std::int64_t now, std::size_t rows, std::uint64_t epoch,
           std::uint64_t position) noexcept;
  /// Records consecutive rows of a batch in the trace.
  void show_rows(std::int64_t begin, std::int64_t end, std::uint64_t epoch, std::uint64_t step,
                 std::uint64_t rows) noexcept {
    if (tracing_.track)
      tracing_.track->add(tracing_.rows, begin, end, {epoch, step, rows});
  }
  /// Records a lane's turn.
  void show_turn(std::int64_t begin, std::int64_t end, std::uint64_t lane) noexcept {
    if (tracing_.track)
      tracing_.track->add(tracing_.turn, begin, end, {lane});
  }
  bool is_traced() const noexcept { return tracing_.track != nullptr; }

  /// Any thread; an estimate unless all rows were measured.
  std::chrono::nanoseconds time_in(std::size_t stage) const noexcept {
    return std::chrono::nanoseconds{
        stage < times_.size() ? times_[stage].load(std::memory_order_relaxed) : 0};
  }

private:
  /// In a row that changes between stages more often than this, only the beginning is measured.
  static constexpr std::size_t most_switches = 64;
  /// A row is shown only if it begins at least this long after the row shown before it began.
  static constexpr std::int64_t shown_every_ns = 100'000;

  struct lap {
    std::size_t stage;
    std::int64_t begin;
    std::int64_t end;
  };

  void turn_to(std::size_t stage, std::int64_t now) noexcept;
  void show(std::int64_t now, std::uint64_t epoch, std::uint64_t position) noexcept;

  std::vector<std::atomic<std::int64_t>> times_;
  row_tracing tracing_;

  // The row that is being measured:
  bool is_on_ = false;
  std::int64_t begin_ = 0;
  std::int64_t since_ = 0;
  std::size_t stage_ = 0;
  std::size_t switches_ = 0;
  std::vector<std::int64_t> of_row_;
  std::array<lap, most_switches> laps_{};
  std::int64_t shown_ = 0;
};

/// What one worker has done and is doing now. The worker writes it, for every row, so it has cache
/// lines of its own; any thread reads it.
struct alignas(64) worker_record {
  /// Index among the workers; a replacement has that of its predecessor.
  std::size_t number = 0;
  /// Unique in a loader.
  std::uint32_t id = 0;

  std::atomic<std::uint64_t> rows_dealt{0};
  std::atomic<std::uint64_t> rows_done{0};
  std::atomic<std::int64_t> busy_ns{0};
  /// Of that time, what it ran lanes for, with the probes that they asked for.
  std::atomic<std::int64_t> iterating_ns{0};
  /// Rows of batches that it made in `batch_ns`, and probes that were dealt to it as rows.
  std::atomic<std::uint64_t> batch_rows{0};
  std::atomic<std::int64_t> batch_ns{0};
  std::atomic<std::uint64_t> probe_rows{0};
  std::atomic<std::int64_t> probe_ns{0};
  std::atomic<std::uint64_t> bytes_read{0};
  /// Elements of the packs that it made, and those among them that are padding.
  std::atomic<std::uint64_t> elements_packed{0};
  std::atomic<std::uint64_t> elements_padded{0};

  // The row in progress: its start (steady clock, ns; 0: none), which item, and in which stage it
  // is (sources come first, then maps: see sample_graph).
  std::atomic<std::int64_t> since_ns{0};
  std::atomic<std::uint64_t> epoch{0};
  std::atomic<std::uint64_t> item{0};
  std::atomic<std::size_t> stage{0};

  /// The function of an operator that it is calling for a lane.
  call_record calls;

  stage_clock clock;
};

/// Marks the record's worker as busy with an item while this lives.
class busy_scope : not_copied {
public:
  explicit busy_scope(worker_record& record) noexcept : record_(record) { begin_next(); }
  ~busy_scope() { record_.since_ns.store(0, std::memory_order_relaxed); }

  void begin_next() noexcept { record_.since_ns.store(steady_ns(), std::memory_order_relaxed); }

private:
  worker_record& record_;
};

} // namespace leat
