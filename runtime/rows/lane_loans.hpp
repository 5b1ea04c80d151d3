#pragma once

#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/rank_lane.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// The lanes of one rank, and who runs each: the thread of the order, or a worker that it is lent
/// to. A lane that is lent is not touched until it comes back. A plain value of one thread.
class lane_loans {
public:
  /// `per_batch`: items of each lane. `enough`: with so many items that wait a lane has no turn, at
  /// first. `lanes` are those of all ranks.
  lane_loans(std::size_t per_batch, std::size_t enough, std::uint64_t lanes,
             std::uint64_t world_size)
      : per_batch_(per_batch), enough_(enough), lanes_(lanes), world_size_(world_size) {}

  /// In the order of their numbers.
  void add(std::shared_ptr<rank_lane> x) { places_.push_back({std::move(x)}); }
  std::size_t size() const noexcept { return places_.size(); }
  /// The last round of one of them. Not while it is lent.
  lane_round& round(std::size_t i) noexcept { return places_[i].lane->round(); }
  const lane_round& round(std::size_t i) const noexcept { return places_[i].lane->round(); }

  bool any_is_lent() const noexcept { return lent_ > 0; }
  /// Some lane has not run since something came or went. Not while one is lent.
  bool any_is_stale() const noexcept;
  /// Some lane lacks a record of a source that exists once.
  bool waits_for_feed() const noexcept;
  /// From now on so many items without content may wait in each lane, if that is more than before.
  /// Not while one is lent.
  void run_ahead(std::size_t items);
  /// Lanes begin the epoch: those that are lent, when they come back.
  void begin(std::uint64_t epoch);

  /// Runs lanes that have something to do in this thread. False if that was cut short.
  bool run(call_record& calls);

  // As in batch_order:
  bool open_probe(planned_batch& probe, std::size_t most);
  void close_probe(batch_slot& slot);
  bool open_turns(planned_batch& turns, std::size_t workers);
  void close_turns(batch_slot& slot);
  void wake();
  bool wait_for_feed(const std::atomic<bool>& stop);

private:
  struct place {
    std::shared_ptr<rank_lane> lane;
    bool is_lent = false;
    /// When it comes back, it begins the epoch.
    bool begins = false;
    /// The value of `wakes_` when it was lent.
    std::uint64_t wakes = 0;
    /// What others found in its items meanwhile.
    std::vector<std::pair<row_request, row_result>> found = {};
  };

  place& place_at(std::uint64_t position) { return places_[position % lanes_ / world_size_]; }

  std::vector<place> places_;
  std::size_t per_batch_;
  /// A lane with so many items has no turn, which would wake a worker for few.
  std::size_t enough_;
  std::uint64_t lanes_;
  std::uint64_t world_size_;
  std::uint64_t epoch_ = 0;
  std::size_t lent_ = 0;
  /// How often records have come.
  std::uint64_t wakes_ = 0;
  /// The lane whose items are probed next.
  std::size_t next_probed_ = 0;
};

} // namespace leat
