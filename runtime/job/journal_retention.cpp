#include "runtime/job/journal_retention.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Numbers of records have 63 bits.
constexpr std::uint64_t most_record = std::uint64_t{1} << 63;

void add_lowest(const round_mark& mark, std::vector<std::uint64_t>& lowest) {
  if (!mark.base) {
    // From the beginning; records that exist once do not occur in later laps.
    if (mark.when == lap{})
      std::fill(lowest.begin(), lowest.end(), 0);
    return;
  }
  for (const auto& use : mark.base->state.uses())
    if (use.feed < lowest.size())
      lowest[use.feed] = std::min(lowest[use.feed], use.lowest);
  for (const auto& input : mark.base->inputs)
    add_lowest(input.mark, lowest);
}

std::uint64_t behind_of(const record_uses& uses, std::uint32_t feed) {
  const auto found =
      std::find_if(uses.begin(), uses.end(), [&](const auto& x) { return x.feed == feed; });
  return found == uses.end() ? 0 : found->behind;
}

std::uint64_t highest_behind(const round_mark& mark, std::uint32_t feed) {
  if (!mark.base)
    return 0;
  auto behind = behind_of(mark.base->state.uses(), feed);
  for (const auto& input : mark.base->inputs)
    behind = std::max(behind, highest_behind(input.mark, feed));
  return behind;
}

/// Checks that the sources exist in the pipeline, and that the records can exist.
void check_uses(const record_uses& uses, std::size_t feeds) {
  for (const auto& use : uses)
    if (use.feed >= feeds || use.lowest > most_record || use.behind > most_record)
      refuse_state("records " + std::to_string(use.lowest) + " to before "
                       + std::to_string(use.behind) + " of source " + std::to_string(use.feed)
                       + " that exists once",
                   "records of one of " + std::to_string(feeds));
}

void check_uses(const round_mark& mark, std::size_t feeds) {
  if (!mark.base)
    return;
  check_uses(mark.base->state.uses(), feeds);
  for (const auto& input : mark.base->inputs)
    check_uses(input.mark, feeds);
}

void check_uses(const lane_state& x, std::size_t feeds) {
  check_uses(x.used, feeds);
  check_uses(x.mark, feeds);
}

} // namespace

journal_retention::needs journal_retention::needs_of(const job_position& at,
                                                     const lane_states& lanes) const {
  // Records that exist once do not occur in later epochs.
  const auto beginning = at.epoch == 0 ? 0 : UINT64_MAX;
  needs result;
  for (auto lane = rank_; lane < lanes_; lane += world_size_)
    result.push_back({lane, std::vector(feeds_.size(), lanes.empty() ? beginning : UINT64_MAX)});
  for (const auto& x : lanes)
    if (x.lane % world_size_ == rank_ && x.lane < lanes_)
      add_lowest(x.mark, result[x.lane / world_size_].lowest);
  return result;
}

void journal_retention::lower(needs& to, const needs& by) {
  for (std::size_t lane = 0; lane < to.size(); ++lane)
    for (std::size_t feed = 0; feed < to[lane].lowest.size(); ++feed)
      to[lane].lowest[feed] = std::min(to[lane].lowest[feed], by[lane].lowest[feed]);
}

void journal_retention::hold(const needs& needed, const lane_states& lanes) const {
  for (const auto& x : needed)
    for (std::size_t feed = 0; feed < feeds_.size(); ++feed)
      feeds_[feed]->hold_from(x.lowest[feed], x.lane, lanes_);
  for (std::uint32_t feed = 0; feed < feeds_.size(); ++feed) {
    std::uint64_t lowest = UINT64_MAX;
    for (const auto& x : needed)
      lowest = std::min(lowest, x.lowest[feed]);
    std::uint64_t behind = 0;
    for (const auto& x : lanes)
      behind = std::max({behind, highest_behind(x.mark, feed), behind_of(x.used, feed)});
    feeds_[feed]->check_holds(lowest, behind);
  }
}

void journal_retention::restored(const job_position& at, const lane_states& lanes) const {
  for (const auto& x : lanes)
    check_uses(x, feeds_.size());
  hold(needs_of(at, lanes), lanes);
}

void journal_retention::passed(const lane_states& lanes) const {
  if (!feeds_.empty())
    release(needs_of({}, lanes), false);
}

void journal_retention::release(const needs& lanes, bool journals) const {
  for (const auto& x : lanes)
    for (std::size_t feed = 0; feed < feeds_.size(); ++feed)
      if (feeds_[feed]->has_journal() == journals && x.lowest[feed] != UINT64_MAX)
        feeds_[feed]->release_below(x.lowest[feed], x.lane, lanes_);
}

void journal_retention::release_unneeded(needs needed) const {
  for (const auto& [directory, saved] : saved_) {
    if (!saved.are_all)
      return;
    for (const auto& x : saved.sets)
      lower(needed, x.lanes);
  }
  if (found_)
    lower(needed, *found_);
  for (const auto& [at, x] : kept_)
    lower(needed, x.lanes);
  release(needed, true);
}

void journal_retention::saving(const std::string& directory, const job_position& at,
                               const lane_states& lanes) {
  if (feeds_.empty())
    return;
  mutex_lock lock{mutex_};
  saved_[directory].sets.push_back({at, needs_of(at, lanes)});
}

void journal_retention::found_saved(const job_position& at, const lane_states& lanes) {
  mutex_lock lock{mutex_};
  found_ = needs_of(at, lanes);
}

void journal_retention::kept_from(const std::string& directory, const job_position& oldest) {
  mutex_lock lock{mutex_};
  const auto of = saved_.find(directory);
  if (of == saved_.end())
    return;
  auto& [sets, are_all] = of->second;
  const auto found =
      std::find_if(sets.begin(), sets.end(), [&](const saved& x) { return x.at == oldest; });
  are_all = found != sets.end(); // otherwise the set belongs to an earlier process
  if (!are_all)
    return;
  found_.reset();
  sets.erase(sets.begin(), found);
  release_unneeded(sets.front().lanes);
}

void journal_retention::heard_stored(const std::string& directory, const job_position& newest,
                                     std::uint64_t keep) {
  if (keep == 0 || (!heard_.empty() && heard_.back() >= newest))
    return;
  heard_.push_back(newest);
  if (heard_.size() <= keep)
    return;
  while (heard_.size() > keep) // another coordinator may keep fewer
    heard_.pop_front();
  kept_from(directory, heard_.front());
}

void journal_retention::keep(const job_position& at, const lane_states& lanes) {
  for (const auto& x : lanes)
    check_uses(x, feeds_.size());
  const auto needed = needs_of(at, lanes);
  mutex_lock lock{mutex_};
  hold(needed, lanes);
  auto& x = kept_.try_emplace(at, kept{0, needed}).first->second;
  lower(x.lanes, needed);
  ++x.times;
}

void journal_retention::let_go(const job_position& at, const job_position& now,
                               const lane_states& lanes) {
  auto needed = needs_of(now, lanes);
  mutex_lock lock{mutex_};
  if (const auto x = kept_.find(at); x != kept_.end() && --x->second.times == 0)
    kept_.erase(x);
  if (!kept_.empty())
    release_unneeded(std::move(needed));
}

} // namespace leat
