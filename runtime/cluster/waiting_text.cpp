#include "runtime/cluster/waiting_text.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace leat {

namespace {

/// The first few ranks that are not there.
std::string missing_of(const std::set<std::uint64_t>& there, std::uint64_t world_size) {
  constexpr std::uint64_t most = 16;
  const auto missing = world_size - there.size();
  std::string text;
  std::uint64_t named = 0;
  for (std::uint64_t rank = 0; named < std::min(missing, most); ++rank)
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

std::string what_it_waits_for(const cluster_process& x, const cluster_processes& processes,
                              const coordinator_state& state) {
  if (state.phase == job_phase::over || !x.wants_seat())
    return {};
  const auto& rules = x.hello.rules;
  const bool is_numbered = !rules.is_elastic() && x.hello.rank;
  const auto rank = x.hello.rank.value_or(0);
  if (is_numbered && rank < state.seats.size() && state.phase == job_phase::running)
    if (const auto* holder = processes.find(state.seats[rank].holder); holder != &x)
      return "rank " + std::to_string(rank) + " is held by "
             + (holder ? name_of(*holder) : "a process that was not heard of yet");
  std::string missing;
  std::set<std::uint64_t> there;
  for (const auto& [connection, other] : processes.all()) {
    if (!other.wants_seat() || other.work != x.work)
      continue;
    if (is_numbered && other.hello.rank == rank && connection < x.connection)
      return "rank " + std::to_string(rank) + " was claimed first by " + name_of(other);
    there.insert(other.hello.rank.value_or(connection));
  }
  if (rules.is_elastic())
    return std::to_string(there.size()) + " ranks, of " + std::to_string(rules.least_ranks) + " to "
           + std::to_string(rules.most_ranks);
  if (there.size() == rules.world_size)
    return "the seats of the term before to become free";
  return std::to_string(there.size()) + " of " + std::to_string(rules.world_size)
         + " ranks are there, not " + missing_of(there, rules.world_size);
}

} // namespace leat
