#pragma once

#include "runtime/base/huge_buffer.hpp"
#include "runtime/order/lane_round.hpp"
#include "runtime/order/order.hpp"
#include "runtime/sample/batch_layout.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/hash128.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace leat {

/// Who has a row and what became of it. Written by the dispatcher before the row is dealt, then by
/// the row's one owner until it is done, then read only.
struct slot_row {
  enum class phase : std::uint8_t { dealt, begun, done };
  enum class outcome : std::uint8_t { good, masked, failed };

  std::uint64_t position = 0;
  /// Of a closed pipeline: item and era that were delivered, the row's own or those of a
  /// substitute.
  epoch_item delivered;
  hash128 digest;
  hash128 pixels;
  outcome result = outcome::good;
  /// Set where the sample was bad.
  std::optional<bad_row> bad;
  /// Set where the outcome is `failed`.
  std::optional<error> failure;
  /// Workers that died over this row.
  std::uint32_t deaths = 0;

  /// 1 + the worker that has the row; 0: nobody yet.
  std::atomic<std::uint32_t> owner{0};
  std::atomic<phase> state{phase::dealt};
};

/// What a worker saw in an item.
struct sighting {
  looked found = {};
  /// The sample, where it stays with its item.
  payload_ptr made = {};

  /// As a new one; keeps memory.
  void clear() noexcept {
    found.clear();
    made = nullptr;
  }
};

/// What a row is of, in pipelines ordered by programs.
struct slot_item {
  item what;
  generation when;
  /// Of a probe: who asked.
  probe_request probe;
  /// Of a probe: written by the row's owner until it is done.
  sighting seen;
};

/// How far a rank knows the epoch, when it opens a batch: what ranks agree on.
struct epoch_horizon {
  /// Batches of the epoch that the rank has rows for.
  std::uint64_t batches = 0;
  /// There will not be more.
  bool is_final = false;
};

/// What is known of a batch before its rows run.
struct batch_plan {
  enum class kind : std::uint8_t {
    batch,
    /// Behind the last batch of the job.
    end,
    /// `failure` tells why there is no batch: as planned, or the first one of its rows.
    failed,
    /// No batch, but items that workers look at for a program.
    probe,
  };

  kind what = kind::batch;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Known where the rank knows by itself; else next() finds out.
  bool end_of_epoch = false;
  epoch_horizon horizon = {};
  /// Of pipelines ordered by programs: the state behind this batch.
  std::shared_ptr<const lane_states> lanes = {};
  std::optional<error> failure = {};
};

/// In place of whatever batch is next, of any epoch.
batch_plan failed_batch(error problem) noexcept;

/// Memory for one batch of one rank, reused for many: rows, their tensors, and the shared part of
/// the ledger (claims, owners, rows that remain).
///
/// Life: `reserve` (batcher) -> `open` (dispatcher) -> rows run (workers) -> `close` (batcher) ->
/// leased to the trainer -> `reserve` again. Each opening has a new generation; claims of an older
/// one find nothing, and nothing of an older one is left in the plan, the rows and what they came
/// to.
struct batch_slot : batch_plan {
  /// `rows`: the most that a batch of this rank has.
  batch_slot(std::shared_ptr<const batch_layout> layout, std::size_t rows);

  /// Marks the slot as not yet opened: nothing is complete.
  void reserve() noexcept { remaining.store(not_open, std::memory_order_relaxed); }

  /// Starts a generation with all that others read of it: the plan and `n` existing rows, at most
  /// `capacity`, whose positions and items the caller has written already. From here on the slot
  /// belongs to others, who may be done with it at once.
  void open(batch_plan plan, std::size_t n) noexcept;

  /// Fails whatever batch is next, of any epoch.
  void fail(error problem) noexcept { plan() = failed_batch(std::move(problem)); }

  /// Rows that were claimed together: from `first` to before `end`.
  struct claimed {
    std::size_t first = 0;
    std::size_t end = 0;

    std::size_t size() const noexcept { return end - first; }
    explicit operator bool() const noexcept { return first < end; }
  };
  /// The next unclaimed rows below `limit` for `worker`, at most `at_most`; none: all are claimed,
  /// or the generation is over. `seen` and `limit` are those of the chunk: a late worker must not
  /// read the slot's own.
  claimed claim(std::uint32_t seen, std::size_t limit, std::uint32_t worker,
                std::size_t at_most) noexcept;

  /// Notes that the row is done, for readers of its results. Not yet counted.
  void mark_done(std::size_t row) noexcept {
    rows[row].state.store(slot_row::phase::done, std::memory_order_release);
  }
  /// Counts n rows that were marked, at least 1. True for those that were last.
  bool count_done(std::size_t n) noexcept {
    const auto count = static_cast<std::uint32_t>(n);
    return remaining.fetch_sub(count, std::memory_order_acq_rel) == count;
  }
  bool finish(std::size_t row) noexcept {
    mark_done(row);
    return count_done(1);
  }

  bool complete() const noexcept { return remaining.load(std::memory_order_acquire) == 0; }

  /// Sums up a complete batch: validity, digest, bad rows, the first failure; zeroes rows without a
  /// sample, unless the batch has failed.
  void close();

  /// Points `dense` and `ragged` (one entry a field) at the row, and a target at them.
  row_target target(std::size_t row, std::span<std::byte*> dense,
                    std::span<std::vector<std::byte>*> ragged);
  void clear_row(std::size_t row) noexcept;

  /// Values and offsets of a ragged field, gathered on first use. Any thread.
  struct gathered {
    std::vector<std::byte> values;
    std::vector<std::uint64_t> offsets;
  };
  const gathered& gather(std::size_t field);

  static constexpr std::uint32_t not_open = ~std::uint32_t{0};

  const std::shared_ptr<const batch_layout> layout;
  const std::size_t capacity;
  /// Of the job, as loader::rewind counts them. Written before `open`.
  std::uint64_t run = 0;
  /// [capacity, row] for each dense field; empty for ragged ones.
  std::vector<huge_buffer> dense;
  /// Bytes of each row for each ragged field.
  std::vector<std::vector<std::vector<std::byte>>> ragged;
  std::unique_ptr<slot_row[]> rows;
  /// Of each row, in pipelines ordered by programs; else none.
  std::vector<slot_item> items;

  /// Rows go to whoever claims them; otherwise each has its owner from the beginning. Set before
  /// each opening.
  bool claimable = false;
  std::size_t num_rows = 0;
  std::uint32_t generation = 0;

  std::atomic<std::uint64_t> cursor{0};
  std::atomic<std::uint32_t> remaining{not_open};

  // Results, written by `close`.
  std::vector<std::uint8_t> valid;
  std::size_t num_valid = 0;
  hash128 digest;
  std::vector<bad_row> bad;

private:
  batch_plan& plan() noexcept { return *this; }
  void clear_invalid_rows() noexcept;

  std::mutex gather_mutex_;
  std::vector<std::optional<gathered>> gathered_;
};

} // namespace leat
