#pragma once

#include "runtime/sources/feed/served_rank.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace leat {

/// The ranks that a feed has links to, by numbers of the links. A plain value. With n of them a
/// call costs O(log n), except where all of them have something to hear.
class served_ranks {
public:
  void join(std::uint64_t link) { links_[link]; }
  void lost(std::uint64_t link);
  /// Null for a link that was lost.
  served_rank* find(std::uint64_t link);
  /// What a rank has stated. False if one that keeps to the rules does not say so. The link is not
  /// lost.
  bool hear(std::uint64_t link, const feed_want& x, const feed_offer& own);

  /// The records from `first` on, and below `next`, have come: those whose lanes they belong to,
  /// and those that wait for them, have something to hear.
  void came(std::uint64_t first, std::uint64_t next);
  /// All have something to hear.
  void have_news();
  /// The links of those who have something to hear since the last call.
  std::vector<std::uint64_t> take_news() { return std::exchange(news_, {}); }

  /// How far those look that make no batch with what there is; 0: there are none.
  std::uint64_t starved_below() const { return starved_.empty() ? 0 : starved_.rbegin()->first; }

private:
  /// World size and rank.
  using place = std::pair<std::uint64_t, std::uint64_t>;
  static place place_of(const feed_want& x) { return {x.place.world_size, x.place.rank}; }

  std::map<std::uint64_t, served_rank> links_;
  /// Those that have stated something. All have the same number of lanes.
  std::map<place, std::set<std::uint64_t>> by_place_;
  std::uint64_t lanes_ = 1;
  /// How far those look that make no batch with what there is, and their links.
  std::set<std::pair<std::uint64_t, std::uint64_t>> starved_;
  std::vector<std::uint64_t> news_;
};

} // namespace leat
