#include "runtime/record_release.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

void add_lowest(const round_mark& mark, std::vector<std::uint64_t>& lowest) {
  if (!mark.base) {
    // From the beginning; what exists once has nothing in later generations.
    if (mark.when == generation{})
      std::fill(lowest.begin(), lowest.end(), 0);
    return;
  }
  for (const auto& use : mark.base->state.uses())
    if (use.feed < lowest.size())
      lowest[use.feed] = std::min(lowest[use.feed], use.lowest);
  for (const auto& input : mark.base->inputs)
    add_lowest(input.mark, lowest);
}

std::uint64_t highest_behind(const round_mark& mark, std::uint32_t feed) {
  std::uint64_t behind = 0;
  if (!mark.base)
    return behind;
  for (const auto& use : mark.base->state.uses())
    if (use.feed == feed)
      behind = std::max(behind, use.behind);
  for (const auto& input : mark.base->inputs)
    behind = std::max(behind, highest_behind(input.mark, feed));
  return behind;
}

} // namespace

std::vector<record_release::lane_need> record_release::needs_of(const lane_states& lanes) const {
  std::vector<lane_need> result;
  result.reserve(lanes.size());
  for (const auto& x : lanes) {
    result.push_back({x.lane, std::vector<std::uint64_t>(feeds_.size(), UINT64_MAX)});
    add_lowest(x.mark, result.back().lowest);
  }
  return result;
}

void record_release::restored(const lane_states& lanes) const {
  for (std::uint32_t feed = 0; feed < feeds_.size(); ++feed) {
    std::uint64_t behind = 0;
    for (const auto& x : lanes)
      behind = std::max(behind, highest_behind(x.mark, feed));
    feeds_[feed]->check_reaches(behind);
  }
}

void record_release::passed(const lane_states& lanes) const {
  if (!feeds_.empty())
    release(needs_of(lanes), false);
}

void record_release::release(const std::vector<lane_need>& lanes, bool journals) const {
  for (const auto& x : lanes)
    for (std::size_t feed = 0; feed < feeds_.size(); ++feed)
      if (feeds_[feed]->has_journal() == journals && x.lowest[feed] != UINT64_MAX)
        feeds_[feed]->release_below(x.lowest[feed], x.lane, lanes_);
}

void record_release::saving(const job_position& at, const lane_states& lanes) {
  if (feeds_.empty())
    return;
  std::lock_guard lock{mutex_};
  saved_.push_back({at, needs_of(lanes)});
}

void record_release::kept_from(const job_position& oldest) {
  std::vector<lane_need> lanes;
  {
    std::lock_guard lock{mutex_};
    const auto found =
        std::find_if(saved_.begin(), saved_.end(), [&](const saved& x) { return x.at == oldest; });
    if (found == saved_.end())
      return; // of an earlier process
    lanes = std::move(found->lanes);
    saved_.erase(saved_.begin(), found + 1);
  }
  release(lanes, true);
}

} // namespace leat
