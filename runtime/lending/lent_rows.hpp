#pragma once

#include "runtime/rows/batch_slot.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace leat {

/// A row in one opening of a slot.
struct row_place {
  std::shared_ptr<batch_slot> slot;
  std::uint32_t ticket = 0;
  std::uint32_t row = 0;
  /// Rows of the opening, and whether it is a batch.
  std::size_t limit = 0;
  bool is_batch = true;
  /// Workers here were given it: whoever has it for a moment, in which they pass it over, gives it
  /// to them once more.
  bool is_dealt_here = false;
};

/// The open batches whose rows may be lent, and the rows that are, by numbers that are never used
/// again. A plain value of one thread at a time.
class lent_rows {
public:
  /// Links with which a row may be lost; it is made here after that.
  explicit lent_rows(std::uint32_t most_losses) : most_losses_(most_losses) {}

  /// A batch or a probe was opened, whose rows workers claim.
  void opened(std::shared_ptr<batch_slot> slot);
  /// How many may be claimed, at most.
  std::size_t num_available() const noexcept;
  /// Claims rows of these kinds for a helper, and counts it among those that have them: first rows
  /// that others are late with or have lost, then what nobody has.
  struct kinds {
    bool batches = true;
    bool probes = true;
  };
  std::vector<std::uint64_t> claim(std::uint64_t link, std::size_t n, kinds which);
  /// Of a row that was just claimed.
  const row_place& place(std::uint64_t row) const { return rows_.at(row).place; }

  /// A helper has made the row: the row if the caller has it now, see batch_slot::take_lent.
  std::optional<row_place> take(std::uint64_t row);
  /// What was taken is lent again, and is made here.
  void put_back(const row_place& row);
  enum class left {
    /// It is made here.
    declined,
    lost,
    /// There was no room for it in the offer.
    unsent,
  };
  /// Whether an answer with any of these rows would still be of use; 0 is none.
  bool is_any_wanted(const std::vector<std::uint64_t>& rows) const;
  /// A helper has the row no more.
  void leave(std::uint64_t row, left why);
  /// A helper is late with the row, or silent.
  void is_late(std::uint64_t row);

  /// Rows for workers here, each of which takes those that are still lent: given once.
  std::vector<row_place> take_for_here() { return std::exchange(for_here_, {}); }
  std::uint64_t num_dealt_again() const noexcept { return dealt_again_; }
  std::size_t size() const noexcept { return rows_.size(); }

private:
  struct open_slot {
    std::shared_ptr<batch_slot> slot;
    std::uint32_t ticket = 0;
    std::size_t limit = 0;
    bool is_batch = false;
  };
  struct lent_row {
    row_place place;
    /// Helpers that have it.
    std::uint32_t holders = 0;
    std::uint32_t losses = 0;
    /// The last one of them.
    std::uint64_t link = 0;
    /// It waits for another one.
    bool is_waiting = false;
  };

  void claim_waiting(std::uint64_t link, std::size_t n, kinds which,
                     std::vector<std::uint64_t>& to);
  void claim_from(const open_slot& from, std::size_t n, std::vector<std::uint64_t>& to);
  void deal_again(std::uint64_t row, bool also_to_others);
  void forget_if_over(std::uint64_t row);

  const std::uint32_t most_losses_;
  std::deque<open_slot> slots_;
  std::map<std::uint64_t, lent_row> rows_;
  std::deque<std::uint64_t> waiting_;
  std::vector<row_place> for_here_;
  std::uint64_t last_row_ = 0;
  std::uint64_t dealt_again_ = 0;
};

} // namespace leat
