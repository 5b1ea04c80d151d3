#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "tests/support/job.hpp"
#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

namespace leat {

/// An all-gather among threads, like MPI_Allgather among processes.
class all_gather {
public:
  explicit all_gather(std::uint64_t ranks) : said_(ranks) {}

  /// Throws `errc::worker_lost` if a rank has left.
  std::vector<epoch_agreement> operator()(std::uint64_t rank, const epoch_agreement& mine) {
    mutex_lock lock{mutex_};
    said_[rank] = mine;
    const auto meeting = meeting_;
    if (++present_ == said_.size()) {
      all_ = said_;
      present_ = 0;
      ++meeting_;
      changed_.notify_all();
      return all_;
    }
    while (meeting_ == meeting && !has_left_)
      changed_.wait(mutex_);
    // The next meeting cannot end before this rank has come to it, so `all_` is still of this one.
    if (meeting_ == meeting)
      throw error(errc::worker_lost, {.stage = "all_gather", .got = "a rank that has left"});
    return all_;
  }

  /// Records that a rank has failed and will not come any more; as a process it would have ended.
  void leave() {
    mutex_lock lock{mutex_};
    has_left_ = true;
    changed_.notify_all();
  }

private:
  mutex mutex_;
  condition_variable changed_;
  std::vector<epoch_agreement> said_ LEAT_GUARDED_BY(mutex_);
  std::vector<epoch_agreement> all_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t present_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t meeting_ LEAT_GUARDED_BY(mutex_) = 0;
  bool has_left_ LEAT_GUARDED_BY(mutex_) = false;
};

/// What one rank received.
struct rank_run {
  std::vector<job_step> steps;
  /// After each step: batch::snapshot() and batch::end_of_epoch().
  std::vector<std::string> states;
  std::vector<bool> ends;
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
