#include "runtime/sources/feed/served_ranks.hpp"

namespace leat {

void served_ranks::lost(std::uint64_t link) {
  const auto found = links_.find(link);
  if (found == links_.end())
    return;
  const auto& x = found->second;
  if (x.has_said()) {
    const auto at = by_place_.find(place_of(x.said()));
    at->second.erase(link);
    if (at->second.empty())
      by_place_.erase(at);
    if (x.said().is_starved)
      starved_.erase({x.said().looks_below, link});
  }
  links_.erase(found);
}

served_rank* served_ranks::find(std::uint64_t link) {
  const auto found = links_.find(link);
  return found == links_.end() ? nullptr : &found->second;
}

bool served_ranks::hear(std::uint64_t link, const feed_want& x, const feed_offer& own) {
  auto& rank = links_.at(link);
  const bool have_others_other_lanes = !by_place_.empty() && lanes_ != x.place.lanes;
  if (have_others_other_lanes || !rank.may_say(x, own))
    return false;
  lanes_ = x.place.lanes;
  if (!rank.has_said())
    by_place_[place_of(x)].insert(link);
  else if (rank.said().is_starved)
    starved_.erase({rank.said().looks_below, link});
  if (x.is_starved)
    starved_.emplace(x.looks_below, link);
  rank.hear(x, own);
  return true;
}

void served_ranks::came(std::uint64_t first, std::uint64_t next) {
  if (next - first >= by_place_.size() || news_.size() >= links_.size())
    return have_news(); // also if nobody takes them
  // Ranks of one world size, and while a job begins again also of another.
  for (auto world = by_place_.begin(); world != by_place_.end();) {
    const auto size = world->first.first;
    for (auto number = first; number < next; ++number)
      if (const auto at = by_place_.find({size, number % lanes_ % size}); at != by_place_.end())
        news_.insert(news_.end(), at->second.begin(), at->second.end());
    world = by_place_.lower_bound({size + 1, 0});
  }
  for (auto x = starved_.upper_bound({first, UINT64_MAX}); x != starved_.end(); ++x) {
    if (x->first > next)
      break;
    news_.push_back(x->second); // perhaps once more
  }
}

void served_ranks::have_news() {
  news_.clear();
  for (const auto& [link, x] : links_)
    news_.push_back(link);
}

} // namespace leat
