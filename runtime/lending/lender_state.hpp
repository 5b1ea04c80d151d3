#pragma once

#include "runtime/lending/lent_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace leat {

/// Times in nanoseconds, sizes in bytes.
struct lender_settings {
  /// What may be under way on all links together, there and back.
  std::int64_t budget = std::int64_t{64} << 20;
  std::int64_t most_offer_bytes = std::int64_t{4} << 20;
  /// How long one core of a helper works on an offer.
  std::int64_t offer_time = 35'000'000;
  /// Offers that a helper has for each of its cores: the one that it works on, and the next.
  std::size_t offers_per_core = 2;
  /// A helper that was not heard of for so long has its rows dealt again, and gets no others.
  std::int64_t silent_after = 2'000'000'000;
  /// Then its link is given up.
  std::int64_t dead_after = 10'000'000'000;
  /// Added to three medians: rows later than that are dealt again.
  std::int64_t patience = 100'000'000;
  /// Links with which a row may be lost: it is made here after that.
  std::uint32_t most_losses = 3;
  /// Bytes of a row there and back, until some were measured.
  std::int64_t row_bytes = 1024;
};

struct lender_counts {
  std::uint64_t rows_lent = 0;
  /// Of these, those that helpers have made, and whose bytes are in their batches.
  std::uint64_t rows_received = 0;
  /// Rows that were late, or whose link was lost, and that others might make.
  std::uint64_t rows_dealt_again = 0;
  std::uint64_t rows_declined = 0;
};

/// Which rows of the open batches are lent to which helpers. A plain value of one thread at a time,
/// which never waits: time is an argument.
///
/// Rows are claimed from the back of what is open, while workers claim from the front. A helper
/// states a window in bytes, and an offer is sent only if it and its rows fit into that and into
/// the budget, so whatever stalls, no more is under way. An answer counts only for an open offer of
/// the link that it came by; offers have numbers that are never used again. Of several that have a
/// row, the first one has it, which batch_slot::take_lent decides: its local worker or an answer.
class lender_state {
public:
  explicit lender_state(const lender_settings& settings)
      : settings_(settings), rows_(settings.most_losses) {}

  // Links, by numbers of the caller's, which are never used again.
  /// A helper takes offers from now on.
  void join(std::uint64_t link, std::int64_t window, std::size_t cores, std::int64_t now);
  /// It said something.
  void heard(std::uint64_t link, std::int64_t now);
  /// Its link was lost: its rows are for others, and convict nobody.
  void lost(std::uint64_t link);
  /// It was asked to have nothing more for now, as its connection takes no more, or again.
  void pause(std::uint64_t link, bool is_paused);

  /// A batch or a probe was opened, whose rows workers claim.
  void opened(std::shared_ptr<batch_slot> slot) { rows_.opened(std::move(slot)); }

  struct offer {
    std::uint64_t link = 0;
    std::uint64_t number = 0;
    /// The rows' numbers in the offer are their places here.
    std::vector<row_place> rows = {};
  };
  /// Claims rows for a helper that has room for them; nothing if there are none, or no such helper.
  std::optional<offer> next_offer(std::int64_t now);

  /// What was found out about the row's cost.
  struct row_cost {
    /// That the helper took to make it.
    std::int64_t time = 0;
    /// There and back.
    std::int64_t bytes = 0;
  };
  /// A helper has made a row: the row, if it is the caller's now, who must then write it, and count
  /// it as done or call `put_back`. Otherwise the answer is of no use.
  std::optional<row_place> answered(std::uint64_t link, std::uint64_t offer, std::size_t index,
                                    const row_cost& cost, std::int64_t now);
  /// The row was answered, and its bytes are not a row.
  void put_back(const row_place& row);
  /// The row cannot be sent, or the helper does not make it: it is made here.
  void declined(std::uint64_t link, std::uint64_t offer, std::size_t index);

  /// Deals late rows again, and those of silent helpers. The links that it gives are to be cut, and
  /// reported by `lost`.
  std::vector<std::uint64_t> tick(std::int64_t now);
  /// When tick() may have something to do.
  std::int64_t next_tick(std::int64_t now) const;

  /// Rows for workers here, each of which takes those that are still lent: given once.
  std::vector<row_place> take_for_here() { return rows_.take_for_here(); }

  lender_counts counts() const noexcept;
  /// What is under way.
  struct load {
    std::int64_t bytes = 0;
    std::size_t offers = 0;
    /// Rows that are remembered.
    std::size_t rows = 0;
  };
  load under_way() const noexcept { return {used_, offers_.size(), rows_.size()}; }
  /// Of a link; 0 if it is unknown.
  std::int64_t bytes_under_way(std::uint64_t link) const noexcept;

private:
  struct helper {
    std::int64_t window = 0;
    std::size_t cores = 1;
    std::int64_t heard = 0;
    bool is_silent = false;
    bool is_paused = false;
    std::int64_t used = 0;
    std::size_t offers = 0;
    /// Of one row, as it has been; 0: not known.
    std::int64_t row_time = 0;
  };
  struct open_offer {
    std::uint64_t link = 0;
    std::int64_t since = 0;
    /// By index; 0: answered.
    std::vector<std::uint64_t> rows = {};
    std::size_t left = 0;
    std::int64_t bytes_per_row = 0;
    bool is_late = false;
  };

  helper* next_helper(std::uint64_t& link);
  std::size_t rows_for(const helper& x, std::size_t available) const;
  /// The row of an open offer, which is no longer in it; 0 if there is none.
  std::uint64_t take(std::uint64_t link, std::uint64_t offer, std::size_t index);
  std::int64_t late_after(const open_offer& x) const;

  const lender_settings settings_;
  std::map<std::uint64_t, helper> helpers_;
  lent_rows rows_;
  std::map<std::uint64_t, open_offer> offers_;
  std::uint64_t last_offer_ = 0;
  std::int64_t used_ = 0;
  /// Measured, or as the settings have it.
  std::int64_t row_bytes_ = settings_.row_bytes;
  /// From offer to answer, by row of the offer: the latest ones.
  std::deque<std::int64_t> turns_;
  lender_counts counts_;
};

} // namespace leat
