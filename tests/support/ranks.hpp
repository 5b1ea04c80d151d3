#pragma once

#include "tests/support/job.hpp"
#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

#include "tools/leat/rank_meeting.hpp"

namespace leat {

/// An all-gather among threads, like MPI_Allgather among processes.
class all_gather : command::rank_meeting {
public:
  using rank_meeting::rank_meeting;

  /// Throws `errc::worker_lost` if a rank has left.
  std::vector<epoch_agreement> operator()(std::uint64_t rank, const epoch_agreement& mine) {
    return gather(rank, mine);
  }
  /// Records that a rank has failed and will not come any more; as a process it would have ended.
  void leave() { break_up(); }
};

/// What one rank received.
struct rank_run {
  std::vector<job_step> steps;
  /// After each step: batch::snapshot() and batch::end_of_epoch().
  std::vector<std::string> states;
  std::vector<bool> ends;
  /// In each step: rows that are invalid because their samples are bad.
  std::vector<std::size_t> bad_rows;
  /// How often the ranks agreed.
  std::size_t agreements = 0;
  std::optional<error> failure;
};

/// Runs all ranks of a job, each in a thread of its own, up to its end or for a number of steps.
/// `begin` prepares each loader; `before` is called before each next(), with the steps so far.
inline std::vector<rank_run>
run_ranks(const pipeline& data, loader_options options, std::uint64_t world_size,
          const std::function<void(loader&)>& begin = {}, std::size_t most = SIZE_MAX,
          const std::function<void(loader&, std::size_t)>& before = {}) {
  all_gather gather{world_size};
  std::vector<rank_run> runs(world_size);
  const auto run = [&](std::uint64_t rank) {
    auto& result = runs[rank];
    auto own = options;
    own.rank = rank;
    own.world_size = world_size;
    own.agree = [&](const epoch_agreement& mine) {
      ++result.agreements;
      return gather(rank, mine);
    };
    try {
      loader x{data, own};
      if (begin)
        begin(x);
      while (result.steps.size() < most) {
        if (before)
          before(x, result.steps.size());
        const auto batch = x.next();
        if (!batch)
          break;
        append(result.steps, *batch);
        result.states.push_back(batch->snapshot());
        result.ends.push_back(batch->end_of_epoch());
        result.bad_rows.push_back(batch->bad().size());
      }
    } catch (const error& problem) {
      result.failure = problem;
      gather.leave();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t rank = 0; rank < world_size; ++rank)
    threads.emplace_back(run, rank);
  for (auto& x : threads)
    x.join();
  return runs;
}

/// Merges the ranks' parts of each step. Throws std::logic_error if ranks do not have the same
/// steps, or disagree on which is an epoch's last; `leat::error` if a rank failed.
inline std::vector<job_step> global_steps(const std::vector<rank_run>& ranks) {
  auto steps = ranks.front().steps;
  for (const auto& x : ranks) {
    if (x.failure)
      throw error(*x.failure);
    if (x.steps.size() != steps.size() || x.ends != ranks.front().ends)
      throw std::logic_error("ranks end at different steps");
  }
  for (std::size_t rank = 1; rank < ranks.size(); ++rank)
    for (std::size_t i = 0; i < steps.size(); ++i)
      add(steps[i], ranks[rank].steps[i]);
  return steps;
}

/// The parts of all ranks after a step.
inline std::vector<std::string> parts_after(const std::vector<rank_run>& ranks, std::size_t step) {
  std::vector<std::string> parts;
  for (const auto& x : ranks)
    parts.push_back(x.states.at(step));
  return parts;
}

} // namespace leat
