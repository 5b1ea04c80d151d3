// What a job looks like from outside.

#include "runtime/cluster/coordinator.hpp"

namespace leat {

namespace {

constexpr job_rules no_rules{.world_size = 0, .least_ranks = 0, .most_ranks = 0};

} // namespace

cluster_status coordinator::status(time now) const {
  cluster_status x{.life = life_,
                   .term = state_.term,
                   .phase = static_cast<std::uint8_t>(state_.phase),
                   .reason = state_.reason,
                   .start = state_.start,
                   .stored = sets_.stored(),
                   .target = sets_.target(),
                   .store_failures = sets_.failures(),
                   .store_failure = sets_.failure(),
                   .rules = rules().value_or(no_rules),
                   .sets = state_.sets,
                   .job = settings_.job};
  for (std::uint64_t rank = 0; rank < state_.seats.size(); ++rank) {
    auto& to = x.ranks.emplace_back();
    to.rank = rank;
    to.has_come_back = state_.seats[rank].has_come_back;
    const auto* holder = processes_.find(state_.seats[rank].holder);
    if (!holder)
      continue;
    to.host_name = holder->hello.host_name;
    to.pid = holder->hello.process.pid;
    to.at = holder->beat.saves_from;
    to.global_step = holder->beat.global_step;
    to.silent_ns = static_cast<std::uint64_t>((now - holder->heard).count());
    to.is_connected = !holder->is_closed;
    to.is_done = holder->beat.is_done;
    to.hunger = holder->beat.hunger;
    to.rows_per_second = holder->beat.rows_per_second;
    to.workers_at = holder->beat.workers_at;
    to.workers = holder->beat.workers;
    to.helper_cores = holder->beat.helper_cores;
    to.feeds_at = holder->beat.feeds_at;
    to.fed = holder->beat.fed;
    to.failure = holder->beat.failure;
  }
  for (const auto& [connection, process] : processes_.all())
    if (x.job.empty() && process.refused.empty())
      x.job = process.hello.job;
  for (const auto& [connection, process] : processes_.all())
    if (!process.is_closed && !seats_.rank_of(process.beat.who)
        && (process.wants_seat() || !process.refused.empty()))
      x.waiting.push_back({.host_name = process.hello.host_name,
                           .pid = process.hello.process.pid,
                           .rank = process.hello.rank,
                           .waits_for = process.refused.empty()
                                            ? what_it_waits_for(process)
                                            : "nothing: it was refused: " + process.refused});
  return x;
}

} // namespace leat
