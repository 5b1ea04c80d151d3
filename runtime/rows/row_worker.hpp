#pragma once

#include "messages/chunk.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/device/device_decoder.hpp"
#include "runtime/rows/row_runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace leat {

/// Fault drills of one worker.
struct worker_drill {
  std::chrono::milliseconds slow_by{0};
  /// Dies at the first row at or after this position.
  std::optional<std::uint64_t> die_at;
};

/// How many small things are done before the clock is read, which takes as long as one of them. A
/// larger group would let its others wait too long after one that turns out to be slow.
class group_size {
public:
  static constexpr std::size_t largest = 64;

  std::size_t size() const noexcept { return size_; }
  /// How long a group took.
  void took(std::int64_t ns) noexcept {
    if (ns < 25'000)
      size_ = std::min(2 * size_, largest);
    else if (ns > 100'000)
      size_ = 1;
  }

private:
  std::size_t size_ = 1;
};

/// What makes rows, in one thread: reads, decodes and augments them in groups, runs lanes, and
/// records times and counts.
class row_worker {
public:
  enum class verdict {
    going_on,
    /// The slot's last row was among them.
    complete,
    cancelled,
    dead,
  };

  row_worker() = default;

  /// Runs rows that this worker owns, which may be turns of lanes, and records their times and
  /// counts: those from `first` to just before `end`, or those of the list.
  verdict run(batch_slot& slot, std::size_t first, std::size_t end);
  verdict run(batch_slot& slot, std::span<const std::uint32_t> rows);
  /// Runs the rows that were dealt by name, then claims others until none is left, and rests.
  verdict run(const chunk& work);

  /// Rows to take at a time: one, or several if rows are so small that taking them costs as much as
  /// making them.
  std::size_t group() const noexcept;

  /// No row follows for now: called after the last row of a chunk.
  void rest();

  /// Decodes images there from now on; null: in this thread. Called once `function` is there.
  void decode_on(std::shared_ptr<device_decoding> device);
  /// Rows that were run wait for the device: nobody counts them as done.
  bool has_waiting() const noexcept { return decoder_ && decoder_->has_rows(); }
  /// Waits for them, and makes those anew that the device could not.
  void settle();
  /// Whether rows that waited were the last ones of a batch since this was asked.
  bool take_completed() noexcept { return std::exchange(has_completed_, false); }

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
  /// As far as it goes, with one look at each item that it asks for. False if the worker dies over
  /// one of them on purpose.
  bool run_lane(const row_request& turn, row_holder& holder);
  template <class RowAt>
  verdict run_group(batch_slot& slot, std::size_t n, RowAt row_at);
  verdict die();
  /// False if the worker dies over the row on purpose.
  bool begin_row(batch_slot& slot, std::size_t row);
  bool dies_over(const batch_slot& slot, std::size_t row) const noexcept;
  template <class RowAt>
  bool run_together(batch_slot& slot, std::size_t n, RowAt row_at);
  /// Whether the row, which was run, waits for the device.
  bool waits(batch_slot& slot, std::size_t row, const row_target& target);
  /// Before rows are run: a group of the device's can be begun.
  void make_room();
  void finish_group();

  /// Of a probe in a lane's turn.
  row_result seen_;
  group_size rows_;
  group_size probes_;
  /// Null: images are decoded in this thread.
  std::unique_ptr<device_decoder> decoder_;
  bool has_completed_ = false;
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
