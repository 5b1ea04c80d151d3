#include "runtime/cluster/waiting_text.hpp"

#include <algorithm>
#include <optional>

namespace leat {

namespace {

constexpr std::uint64_t most_missing = 16;

std::pair<std::uint64_t, std::uint64_t> key_of(const hash128& work) {
  return {work.high, work.low};
}

/// The first few ranks that are not there.
template <class Ranks>
std::string missing_of(const Ranks& there, std::uint64_t world_size) {
  const auto missing = world_size - std::min<std::uint64_t>(world_size, there.size());
  std::string text;
  std::uint64_t named = 0;
  for (std::uint64_t rank = 0; named < std::min(missing, most_missing); ++rank)
    if (!there.contains(rank))
      text += (named++ == 0 ? "" : ", ") + std::to_string(rank);
  return missing > named ? text + " and " + std::to_string(missing - named) + " more" : text;
}

} // namespace

std::string name_of(const cluster_process& x) {
  return "process " + std::to_string(x.hello.process.pid) + " of " + x.hello.host_name;
}

std::string place_text(const std::optional<job_position>& x) {
  return x ? "epoch " + std::to_string(x->epoch) + " step " + std::to_string(x->step)
           : "the beginning";
}

waiting_survey::waiting_survey(const cluster_processes& of) : processes_(of) {
  for (const auto& [connection, x] : of.all())
    if (x.wants_seat())
      by_work_[key_of(x.work)].first.try_emplace(x.hello.rank.value_or(connection), connection);
  for (auto& [work, all] : by_work_)
    if (const auto& rules = of.all().at(all.first.begin()->second).hello.rules;
        !rules.is_elastic()) // equal work: the same rules
      all.missing = missing_of(all.first, rules.world_size);
}

std::string waiting_survey::text_for(const cluster_process& x,
                                     const coordinator_state& state) const {
  if (state.phase == job_phase::over || !x.wants_seat())
    return {};
  const auto& rules = x.hello.rules;
  const bool is_numbered = !rules.is_elastic() && x.hello.rank;
  const auto rank = x.hello.rank.value_or(0);
  if (is_numbered && rank < state.seats.size() && state.phase == job_phase::running)
    if (const auto* holder = processes_.find(state.seats[rank].holder); holder != &x)
      return "rank " + std::to_string(rank) + " is held by "
             + (holder ? name_of(*holder) : "a process that was not heard of yet");
  const auto group = by_work_.find(key_of(x.work));
  if (group == by_work_.end())
    return {}; // it has come since
  const auto& there = group->second.first;
  const auto claimed = is_numbered ? there.find(rank) : there.end();
  if (claimed != there.end() && claimed->second < x.connection)
    if (const auto other = processes_.all().find(claimed->second); other != processes_.all().end())
      return "rank " + std::to_string(rank) + " was claimed first by " + name_of(other->second);
  if (rules.is_elastic())
    return std::to_string(there.size()) + " ranks, of " + std::to_string(rules.least_ranks) + " to "
           + std::to_string(rules.most_ranks);
  if (there.size() == rules.world_size)
    return "the seats of the term before to become free";
  return std::to_string(there.size()) + " of " + std::to_string(rules.world_size)
         + " ranks are there, not " + group->second.missing;
}

} // namespace leat
