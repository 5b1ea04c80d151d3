#pragma once

#include "runtime/lending/lending_costs.hpp"
#include "runtime/lending/lent_rows.hpp"
#include "runtime/lending/recent_times.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
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
  /// Bytes of a row that comes back, until some were measured.
  std::int64_t row_bytes = 1024;
  /// Rows whose lending is not worth it (lending_costs) are made here.
  bool weighs_costs = true;
};

struct lender_counts {
  /// Probes count, too, but for those that were received.
  std::uint64_t rows_lent = 0;
  /// Of these, those that helpers have made, and whose bytes are in their batches.
  std::uint64_t rows_received = 0;
  /// Rows that were late, or whose link was lost, and that others might make.
  std::uint64_t rows_dealt_again = 0;
  std::uint64_t rows_declined = 0;
  /// Why rows are not lent that helpers would have room for; empty if they are.
  std::string not_lent = {};
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
  explicit lender_state(const lender_settings& settings);

  // Links, by numbers of the caller's, which are never used again.
  /// A helper takes offers from now on.
  void join(std::uint64_t link, std::int64_t window, std::size_t cores, std::int64_t now,
            lent_form form = lent_form::items);
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

  /// How an offer was sent, before any of it is answered.
  struct sending {
    std::int64_t bytes = 0;
    /// That reading its records took, and how much of that a processor was busy.
    std::int64_t time = 0;
    std::int64_t work = 0;
    /// Rows for which there was no room, and those that cannot be sent.
    std::vector<std::size_t> unsent = {};
    std::vector<std::size_t> declined = {};
  };
  void sent(const offer& x, const sending& how, std::int64_t now);

  /// What was found out about the row's cost.
  struct row_cost {
    /// That the helper took to make it.
    std::int64_t time = 0;
    /// That came back.
    std::int64_t bytes = 0;
  };
  /// A helper has made a row: the row, if it is the caller's now, who must then write it, and count
  /// it as done or call `put_back`. Otherwise the answer is of no use.
  std::optional<row_place> answered(std::uint64_t link, std::uint64_t offer, std::size_t index,
                                    const row_cost& cost, std::int64_t now);
  /// By which it decides which rows are worth lending: it hears here what the others cost.
  lending_costs& costs() noexcept { return costs_; }

  /// The row was answered, and its bytes are not a row.
  void put_back(const row_place& row);
  /// The helper does not make the row: it is made here.
  void declined(std::uint64_t link, std::uint64_t offer, std::size_t index, std::int64_t now);

  /// What its caller has to do.
  struct due {
    /// Links to be cut, and reported by `lost`.
    std::vector<std::uint64_t> dead = {};
    /// Offers whose rows others have or have made, by links whose helpers are to be told. These
    /// answer all the same, with rows that are not made: until then the offers are under way.
    std::map<std::uint64_t, std::vector<std::uint64_t>> not_wanted = {};
  };
  /// Deals late rows again, and those of silent helpers.
  due tick(std::int64_t now);
  /// When tick() may have something to do.
  std::int64_t next_tick(std::int64_t now) const;

  /// Rows for workers here, each of which takes those that are still lent: given once.
  std::vector<row_place> take_for_here() { return rows_.take_for_here(); }

  lender_counts counts() const;
  /// What is under way: on all links, or on one, without rows; nothing on one that is unknown.
  struct load {
    std::int64_t bytes = 0;
    std::size_t offers = 0;
    /// Rows that are remembered.
    std::size_t rows = 0;
  };
  load under_way(std::optional<std::uint64_t> link = std::nullopt) const noexcept;

private:
  struct helper {
    std::int64_t window = 0;
    std::size_t cores = 1;
    lent_form form = lent_form::items;
    std::int64_t heard = 0;
    bool is_silent = false;
    bool is_paused = false;
    std::int64_t used = 0;
    std::size_t offers = 0;
    /// Of one row, as it has been; 0: not known. The rank reads what it sends.
    std::int64_t row_time = 0;
    std::int64_t read_time = 0;
    std::int64_t sent_bytes = 0;
    /// Rows that it declined, and late offers that others made, since it made a row. After many of
    /// them it has a row now and then.
    std::size_t unmade = 0;
    std::int64_t rests_until = 0;
    int rests = 0;

    void has_not_made(std::int64_t now);
  };
  struct open_offer {
    std::uint64_t link = 0;
    std::int64_t since = 0;
    /// By index; 0: answered.
    std::vector<std::uint64_t> rows = {};
    std::size_t left = 0;
    /// What the helper holds until all rows are answered, and what is to come back for each.
    std::int64_t bytes_sent = 0;
    std::int64_t bytes_per_row = 0;
    bool is_late = false;
    bool is_cancelled = false;

    std::int64_t bytes() const noexcept {
      return bytes_sent + bytes_per_row * static_cast<std::int64_t>(left);
    }
  };

  helper* next_helper(std::uint64_t& link, const std::vector<std::uint64_t>& tried,
                      std::int64_t now);
  std::size_t rows_for(const helper& x, std::size_t available) const;
  /// The row of an open offer, which is no longer in it; 0 if there is none.
  std::uint64_t take(std::uint64_t link, std::uint64_t offer, std::size_t index);

  const lender_settings settings_;
  std::map<std::uint64_t, helper> helpers_;
  lent_rows rows_;
  std::map<std::uint64_t, open_offer> offers_;
  std::uint64_t last_offer_ = 0;
  std::int64_t used_ = 0;
  /// Measured, or as the settings have it.
  std::int64_t row_bytes_ = settings_.row_bytes;
  /// From offer to answer, by row of the offer: the latest ones, and their median.
  recent_times turns_;
  std::int64_t turn_ = settings_.offer_time;
  /// One note was too short for all offers of a helper that are cancelled: the next one is due.
  bool is_cancel_left_ = false;
  lending_costs costs_;
  lender_counts counts_;
};

} // namespace leat
