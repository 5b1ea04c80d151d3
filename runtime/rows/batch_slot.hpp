#pragma once

#include "runtime/device/device_ring.hpp"
#include "runtime/rows/batch_memory.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/rows/row_result.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/hash128.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Who has a row: written by the dispatcher before the row is dealt, then by the row's only owner
/// until it is done, and by the dispatcher again after that owner has died.
struct row_holder {
  enum class phase : std::uint8_t {
    dealt,
    begun,
    done,
    /// Lent to another process: whoever turns this into `begun` makes, or receives, the row.
    lent,
  };

  /// 1 + the number of the worker that has the row; 0: no worker yet, or another process.
  std::atomic<std::uint32_t> owner{0};
  std::atomic<phase> state{phase::dealt};
  /// Workers that died over this row.
  std::uint32_t deaths = 0;
};

/// Who may use a slot. docs/architecture.md has the table of states.
enum class slot_state : std::uint8_t {
  /// Used by nobody.
  free,
  /// The batcher has counted it as the next batch, which is not open yet.
  reserved,
  /// Workers make its rows.
  filling,
  /// All rows are done and summed up.
  ready,
  /// Used by the trainer.
  leased,
};

/// Whether a slot may go from one state to another.
constexpr bool may_follow(slot_state from, slot_state to) noexcept {
  switch (to) {
  case slot_state::reserved:
    return from == slot_state::free;
  case slot_state::filling:
    return from == slot_state::free || from == slot_state::reserved;
  case slot_state::ready:
    return from == slot_state::filling;
  case slot_state::leased:
    return from == slot_state::ready;
  case slot_state::free: // probes and turns are read in the state in which they were filled
    return from == slot_state::filling || from == slot_state::ready || from == slot_state::leased;
  }
  return false;
}

/// The summary of a complete batch's rows.
struct batch_summary {
  /// 1 for each row that has a sample.
  std::vector<std::uint8_t> valid;
  std::size_t num_valid = 0;
  hash128 digest;
  /// What inputs of mixes gave to these.
  input_counts given;
  std::vector<bad_row> bad;
  /// A bit for each field of which some rows are in the device's memory of the slot alone.
  std::uint64_t on_device = 0;
};

/// One batch of one rank, in memory that is reused for many: its rows' requests, their owners, and
/// their results.
///
/// `open` publishes a batch in one call; from then on everything that it was opened with is
/// read-only, and each row belongs to its owner until it is done. Each opening has a new ticket:
/// claims for an older one find nothing, and nothing of the older batch is left. Large because most
/// functions read one thing.
class batch_slot {
public:
  /// `rows`: the most rows that a batch of this rank has. Throws `errc::no_resources`.
  batch_slot(std::shared_ptr<const batch_layout> layout, std::size_t rows,
             const tensor_memory& tensors = {});

  slot_state state() const noexcept { return state_.load(std::memory_order_acquire); }

  /// Called before anyone else has the slot: see slot_life.
  void count_in(job_metrics& metrics, std::size_t number) noexcept {
    life_.count_in(metrics, number);
  }
  /// Called when nobody else has the slot any more.
  void count_out() noexcept { life_.count_out(); }

  // The slot's life. A step that the state does not allow ends the process: memory would be used
  // twice.
  /// Notes the next batch, which is not open yet: none of it is complete.
  void reserve() noexcept;
  /// Takes over a batch of at most as many rows as the slot has, in exchange for the memory of the
  /// one before. `is_claimable`: workers claim the rows; otherwise each has its owner from the
  /// beginning. From here on the slot belongs to others, who may be done with it at once.
  void open(planned_batch& batch, bool is_claimable) noexcept;
  /// Sums up a complete batch: validity, digest, bad rows, the first failure. Zeroes rows without
  /// a sample, unless the batch has failed.
  void close();
  /// The trainer uses it from now on.
  void lend() noexcept { enter(slot_state::leased); }
  /// Nobody uses it any more.
  void release() noexcept { enter(slot_state::free); }
  /// Fails the next batch, of any epoch, in place of all that the slot held.
  void fail(error problem) noexcept { plan_ = failed_batch(std::move(problem)); }

  // What it was opened with:
  const batch_plan& plan() const noexcept { return plan_; }
  /// Run of the job, as loader::rewind counts them.
  std::uint64_t run() const noexcept { return run_; }
  std::uint32_t ticket() const noexcept { return ticket_; }
  bool is_claimable() const noexcept { return is_claimable_; }
  std::size_t num_rows() const noexcept { return num_rows_; }
  /// Its rows are a batch's; else a probe's, or turns of lanes.
  bool holds_batch() const noexcept {
    return opened_as_ != batch_plan::kind::probe && !holds_turns();
  }
  /// Its rows are turns of lanes.
  bool holds_turns() const noexcept { return opened_as_ == batch_plan::kind::turns; }
  const row_request& request(std::size_t row) const noexcept { return requests_[row]; }
  /// Set by the trainer's thread, if ranks have to agree.
  void set_end_of_epoch(bool x) noexcept { plan_.end_of_epoch = x; }

  // While rows are made:
  /// Rows that were claimed together: from `first` to just before `end`.
  struct claimed {
    std::size_t first = 0;
    std::size_t end = 0;

    std::size_t size() const noexcept { return end - first; }
    explicit operator bool() const noexcept { return first < end; }
  };
  /// The next unclaimed rows below `limit` for `worker`, at most `at_most`; none if all are
  /// claimed, or if the slot is open for another batch. `ticket` and `limit` are those of the
  /// chunk: a late worker must not read the slot's own.
  claimed claim(std::uint32_t ticket, std::size_t limit, std::uint32_t worker,
                std::size_t at_most) noexcept;
  /// The last unclaimed rows, at most `at_most`, to be lent to another process: workers claim from
  /// the front, so that both meet where all rows are claimed. `limit`: the batch's rows.
  claimed claim_last(std::uint32_t ticket, std::size_t limit, std::size_t at_most) noexcept;
  /// Rows that nobody has claimed.
  std::size_t num_unclaimed(std::uint32_t ticket, std::size_t limit) const noexcept;
  /// Takes a lent row for whoever makes it here, or has its bytes: true for the first one alone.
  /// A late one is given nothing, whatever batch the slot is open for.
  bool take_lent(std::uint32_t ticket, std::size_t row) noexcept;
  /// The row that was taken could not be received: it is as if it were still lent.
  void put_back(std::size_t row) noexcept {
    holders_[row].state.store(row_holder::phase::lent, std::memory_order_release);
  }
  row_holder& holder(std::size_t row) noexcept { return holders_[row]; }
  /// Written by the row's owner, until the row is done.
  row_result& result(std::size_t row) noexcept { return results_[row]; }
  const row_result& result(std::size_t row) const noexcept { return results_[row]; }
  /// Notes that the row is done, for readers of its results. It is not counted yet.
  void mark_done(std::size_t row) noexcept {
    holders_[row].state.store(row_holder::phase::done, std::memory_order_release);
  }
  /// Counts n rows that were marked, at least 1. True if they were the last.
  bool count_done(std::size_t n) noexcept {
    const auto count = static_cast<std::uint32_t>(n);
    return remaining_.fetch_sub(count, std::memory_order_acq_rel) == count;
  }
  bool finish(std::size_t row) noexcept {
    mark_done(row);
    return count_done(1);
  }
  /// False until it is open.
  bool complete() const noexcept { return remaining_.load(std::memory_order_acquire) == 0; }
  /// It is open, and not complete.
  bool has_rows_left() const noexcept {
    const auto n = remaining_.load(std::memory_order_acquire);
    return n != 0 && n != not_open;
  }

  /// Only for a closed batch.
  const batch_summary& summary() const noexcept { return summary_; }
  /// Likewise: whether a field of the row was made on a device, and is not on the host.
  bool is_on_device(std::size_t row, std::size_t field) const noexcept {
    return row < num_rows_ && summary_.valid[row] != 0
           && (results_[row].on_device >> field & 1) != 0;
  }
  batch_memory& memory() noexcept { return memory_; }
  const batch_memory& memory() const noexcept { return memory_; }

  /// Where its fields are on a device; null: nowhere. Set and taken by the device_engine.
  device_slot_ptr& on_device() noexcept { return on_device_; }

private:
  static constexpr std::uint32_t not_open = ~std::uint32_t{0};

  void enter(slot_state next) noexcept;
  bool is_open_for(std::uint32_t ticket, std::uint64_t cursor) const noexcept {
    const auto all = cursor >> 2 * cursor_bits_ << 2 * cursor_bits_;
    return all == std::uint64_t{ticket} << 2 * cursor_bits_;
  }

  slot_life life_;
  batch_memory memory_;
  std::atomic<slot_state> state_{slot_state::free};

  batch_plan plan_;
  /// What the plan said: a batch may become a failed one when it is closed.
  batch_plan::kind opened_as_ = batch_plan::kind::batch;
  std::uint64_t run_ = 0;
  std::uint32_t ticket_ = 0;
  bool is_claimable_ = false;
  std::size_t num_rows_ = 0;
  std::vector<row_request> requests_;

  std::unique_ptr<row_holder[]> holders_;
  std::unique_ptr<row_result[]> results_;
  /// The next row to claim; above it how many were claimed from the back; above that the ticket,
  /// as far as there is room: a late worker finds it changed.
  std::atomic<std::uint64_t> cursor_{0};
  std::atomic<std::uint32_t> remaining_{not_open};

  batch_summary summary_;
  device_slot_ptr on_device_;
  /// Of each of the two numbers below the ticket in `cursor_`.
  const unsigned cursor_bits_;
};

} // namespace leat
