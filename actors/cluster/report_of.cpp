#include "actors/cluster/report_of.hpp"

#include "runtime/cluster/coordinator_settings.hpp"
#include "runtime/cluster/coordinator_state.hpp"

#include <algorithm>

namespace leat {

namespace {

/// How old the newest beat of a rank may be; beats come every second.
constexpr std::chrono::seconds silence{3};

cluster_phase phase_of(const cluster_status& x) {
  switch (static_cast<job_phase>(x.phase)) {
  case job_phase::forming:
    break;
  case job_phase::running:
    return cluster_phase::running;
  case job_phase::over:
    return cluster_phase::over;
  case job_phase::failed:
    return cluster_phase::failed;
  }
  return cluster_phase::forming;
}

rank_state state_of(const rank_status& x, cluster_phase phase) {
  if (!x.failure.empty())
    return rank_state::failed;
  if (phase == cluster_phase::over || x.is_done)
    return rank_state::done;
  if (x.host_name.empty() && x.pid == 0)
    return rank_state::unheard;
  if (!x.is_connected)
    return rank_state::disconnected;
  if (std::chrono::nanoseconds{x.silent_ns} > silence)
    return rank_state::silent;
  if (phase != cluster_phase::running)
    return rank_state::ended;
  return x.global_step ? rank_state::running : rank_state::loading;
}

feed_report report_of(const feed_progress& x) {
  return {.name = x.name,
          .at = x.at,
          .has_journal = x.has_journal,
          .records_read = x.records_read,
          .reached = x.reached,
          .needed_from = x.needed_from,
          .records_received = x.records_received,
          .bytes_received = x.bytes_received,
          .waited = std::chrono::nanoseconds{static_cast<std::int64_t>(x.waited_ns)},
          .records_per_second = x.records_per_second,
          .bytes_per_second = x.bytes_per_second,
          .waiting_permille = x.hunger};
}

rank_report report_of(const rank_status& x, cluster_phase phase,
                      const std::optional<std::uint64_t>& furthest) {
  rank_report to{.rank = x.rank,
                 .state = state_of(x, phase),
                 .host = x.host_name,
                 .pid = x.pid,
                 .at = x.at,
                 .global_step = x.global_step,
                 .silent = std::chrono::nanoseconds{x.silent_ns},
                 .has_come_back = x.has_come_back,
                 .waiting_permille = x.hunger,
                 .rows_per_second = x.rows_per_second,
                 .workers_at = x.workers_at,
                 .workers = x.workers,
                 .helper_cores = x.helper_cores,
                 .feeds_at = x.feeds_at,
                 .failure = x.failure};
  for (const auto& feed : x.fed)
    to.feeds.push_back(report_of(feed));
  if (x.global_step)
    to.lag = *furthest - *x.global_step;
  return to;
}

std::optional<ranks_wanted> wanted_by(const job_rules& x) {
  if (!is_possible(x))
    return std::nullopt;
  return x.is_elastic() ? ranks_wanted{x.least_ranks, x.most_ranks}
                        : ranks_wanted{x.world_size, x.world_size};
}

} // namespace

cluster_report report_of(const std::string& address, const cluster_status& x) {
  cluster_report to{.address = address,
                    .job = x.job,
                    .coordinator = x.life,
                    .phase = phase_of(x),
                    .term = x.term,
                    .reason = x.reason,
                    .wanted = wanted_by(x.rules),
                    .start = x.start,
                    .stored = x.stored,
                    .collecting = x.target,
                    .sets = x.sets,
                    .store_failures = x.store_failures,
                    .store_failure = x.store_failure};
  std::optional<std::uint64_t> furthest;
  for (const auto& rank : x.ranks)
    furthest = std::max(furthest, rank.global_step);
  for (const auto& rank : x.ranks)
    to.ranks.push_back(report_of(rank, to.phase, furthest));
  for (const auto& process : x.waiting)
    to.waiting.push_back({process.host_name, process.pid, process.rank, process.waits_for});
  return to;
}

std::string_view to_string(cluster_phase x) noexcept {
  constexpr std::string_view names[] = {"forming", "running", "over", "failed"};
  return names[static_cast<std::size_t>(x)];
}

std::string_view to_string(rank_state x) noexcept {
  constexpr std::string_view names[] = {"unheard",      "loading", "running", "silent",
                                        "disconnected", "done",    "failed",  "ended"};
  return names[static_cast<std::size_t>(x)];
}

} // namespace leat
