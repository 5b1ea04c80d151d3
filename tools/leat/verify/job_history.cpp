#include "tools/leat/verify/job_history.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace leat::command {

namespace {

constexpr step_key endless{UINT64_MAX, UINT64_MAX};
constexpr auto any_time = std::numeric_limits<std::size_t>::max();

/// World size, and where the attempt resumes: only parts that have both in common make up a set.
using run_key = std::pair<std::uint64_t, step_key>;

/// The attempt of each rank of a world; null if there is none.
using cast = std::vector<const process_attempt*>;

class history_builder {
public:
  history_builder(const std::vector<process_attempt>& attempts,
                  const std::map<std::uint64_t, std::uint64_t>& steps_of_epoch)
      : attempts_(attempts), steps_of_epoch_(steps_of_epoch) {
    for (const auto& x : attempts)
      runs_[{x.world_size, x.start}].push_back(&x);
  }

  job_history build() {
    if (attempts_.empty())
      return {};
    auto ranks = last_ranks();
    for (auto end = endless; !all_missing(ranks);) {
      const auto start = start_of(ranks);
      add(ranks, start, end);
      note_gap(ranks, start, end);
      end = start;
      ranks = ranks_before(end, ranks);
    }
    std::sort(result_.steps.begin(), result_.steps.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(result_);
  }

private:
  static bool all_missing(const cast& ranks) {
    return std::all_of(ranks.begin(), ranks.end(), [](const auto* x) { return !x; });
  }

  static step_key start_of(const cast& ranks) {
    auto result = endless;
    for (const auto* x : ranks)
      if (x)
        result = std::min(result, x->start);
    return result;
  }

  static std::size_t time_of(const cast& ranks) {
    auto result = any_time;
    for (const auto* x : ranks)
      if (x)
        result = std::min(result, x->when);
    return result;
  }

  static bool is_of(const process_attempt& x, const run_key& run) {
    return x.world_size == run.first && x.start == run.second;
  }

  /// Whether `a` was certainly before `b`: between logs that cover the same time, the order is a
  /// guess.
  static bool is_before(const process_attempt& a, const process_attempt& b) {
    return a.when < b.when && (a.group != b.group || a.log == b.log);
  }

  static std::size_t newest_of(const cast& ranks) {
    std::size_t result = 0;
    for (const auto* x : ranks)
      if (x)
        result = std::max(result, x->when);
    return result;
  }

  /// The step after the last one that the rank reached in the attempt.
  step_key reach_of(const process_attempt& x, std::uint64_t rank) const {
    const auto parts = x.parts.find(rank);
    if (parts == x.parts.end() || parts->second.empty())
      return x.start;
    const auto [epoch, step] = parts->second.rbegin()->first;
    const auto steps = steps_of_epoch_.find(epoch);
    return steps != steps_of_epoch_.end() && step + 1 >= steps->second ? step_key{epoch + 1, 0}
                                                                       : step_key{epoch, step + 1};
  }

  /// The attempts at the job's end, among those since the world last changed its size. If a rank in
  /// a process of its own resumed at the same step several times, the attempt that got farthest
  /// counts.
  cast last_ranks() const {
    const auto& last = attempts_.back();
    const auto other = std::find_if(attempts_.rbegin(), attempts_.rend(),
                                    [&](const auto& x) { return x.world_size != last.world_size; });
    cast result(last.world_size);
    for (std::uint64_t rank = 0; rank < result.size(); ++rank)
      for (auto x = other.base(); x != attempts_.end(); ++x)
        if (x->runs(rank)
            && (!result[rank] || x->start != result[rank]->start
                || reach_of(*x, rank) >= reach_of(*result[rank], rank)))
          result[rank] = &*x;
    // The last attempt replaces all of these if a single process ran all ranks in it, or if none of
    // them is as late.
    if (last.is_alone || newest_of(result) < last.when)
      for (auto x = other.base(); x != attempts_.end(); ++x)
        for (std::uint64_t rank = 0; rank < result.size(); ++rank)
          if (x->when == last.when && x->runs(rank))
            result[rank] = &*x;
    return result;
  }

  /// The attempts that made the set of snapshots of step `end`, with which `next` resumed.
  cast ranks_before(const step_key& end, const cast& next) const {
    cast best;
    std::tuple<bool, step_key, std::size_t> score;
    for (const auto& entry : runs_) {
      const auto& run = entry.first;
      if (run.second >= end)
        continue;
      auto ranks = ranks_of(run, end, next);
      auto reached = end;
      for (std::uint64_t rank = 0; rank < ranks.size(); ++rank)
        reached = std::min(reached, ranks[rank] ? reach_of(*ranks[rank], rank) : step_key{});
      // If the run had left a set of `end`, a later process with all ranks would have resumed with
      // it, and not at an earlier step.
      const auto* alone = alone_after(
          run, next, [&](const process_attempt& x) { return x.start < end && !is_of(x, run); });
      const std::tuple now{!alone, reached, newest_of(ranks)};
      if (best.empty() || now > score) {
        best = std::move(ranks);
        score = now;
      }
    }
    return best;
  }

  /// For each rank, the last attempt of the run that reached `end`, or else the one that got
  /// farthest; if a single process with all ranks made the run's last attempt, that one for all.
  cast ranks_of(const run_key& run, const step_key& end, const cast& next) const {
    const auto time = time_of(next);
    cast result(run.first);
    for (std::uint64_t rank = 0; rank < result.size(); ++rank) {
      const process_attempt* best = nullptr;
      for (const auto* x : runs_.at(run))
        if (x->runs(rank)) {
          // Attempts later than `next` count least, but do count: logs may be given out of order.
          const auto worth = [&](const process_attempt& y) {
            return std::tuple{y.when < time, std::min(end, reach_of(y, rank)), y.when};
          };
          if (!best || worth(*x) >= worth(*best))
            best = x;
        }
      result[rank] = best;
    }
    const auto* alone =
        alone_after(run, next, [&](const process_attempt& x) { return is_of(x, run); });
    return alone ? cast(run.first, alone) : result;
  }

  /// The last attempt of a single process with all ranks that fits, is certainly before `next`, and
  /// certainly after all others of the run that are not after `next`. It discarded what the others
  /// did after its start.
  template <class Fits>
  const process_attempt* alone_after(const run_key& run, const cast& next, Fits fits) const {
    const auto precedes = [&](const process_attempt& x) {
      return std::any_of(next.begin(), next.end(),
                         [&](const auto* y) { return y && is_before(x, *y); });
    };
    const auto follows = [&](const process_attempt& x) {
      const auto& others = runs_.at(run);
      return std::all_of(others.begin(), others.end(), [&](const auto* y) {
        return y == &x || is_before(*y, x)
               || std::any_of(next.begin(), next.end(),
                              [&](const auto* z) { return z && is_before(*z, *y); });
      });
    };
    const auto found = std::find_if(attempts_.rbegin(), attempts_.rend(), [&](const auto& x) {
      return x.is_alone && fits(x) && precedes(x) && follows(x);
    });
    return found == attempts_.rend() ? nullptr : &*found;
  }

  /// What these ranks did from `start` to `end`.
  void add(const cast& ranks, const step_key& start, const step_key& end) {
    std::map<step_key, std::vector<const delivered_part*>> steps;
    for (std::uint64_t rank = 0; rank < ranks.size(); ++rank) {
      if (!ranks[rank])
        continue;
      const auto set = [&](const step_key& at, const delivered_part& part) {
        auto& parts = steps[at];
        parts.resize(ranks.size());
        parts[rank] = &part;
      };
      // If a rank's attempt began later than those of others, an earlier attempt of the same world
      // has its steps before that.
      for (const auto& x : attempts_)
        if (x.world_size == ranks.size() && x.runs(rank) && x.when <= ranks[rank]->when)
          for_each_part(x, rank, start, ranks[rank]->start, set);
      for_each_part(*ranks[rank], rank, ranks[rank]->start, end, set);
      for_each_part(*ranks[rank], rank, {}, std::min(end, ranks[rank]->start),
                    [&](const step_key& at, const delivered_part& part) {
                      result_.strays.emplace_back(at, &part);
                    });
    }
    for (auto& [at, parts] : steps)
      if (std::all_of(parts.begin(), parts.end(), [](const auto* x) { return x != nullptr; }))
        result_.steps.push_back({at, std::move(parts)});
  }

  void note_gap(const cast& ranks, const step_key& start, const step_key& end) {
    job_history::gap found{start, end, {}, ranks.size()};
    for (std::uint64_t rank = 0; rank < ranks.size(); ++rank)
      if (!ranks[rank])
        found.ranks.push_back(rank);
    if (!found.ranks.empty())
      result_.gaps.push_back(std::move(found));
  }

  template <class Do>
  static void for_each_part(const process_attempt& x, std::uint64_t rank, const step_key& begin,
                            const step_key& end, Do act) {
    const auto parts = x.parts.find(rank);
    if (parts == x.parts.end())
      return;
    for (auto at = parts->second.lower_bound(begin); at != parts->second.end() && at->first < end;
         ++at)
      act(at->first, at->second);
  }

  const std::vector<process_attempt>& attempts_;
  const std::map<std::uint64_t, std::uint64_t>& steps_of_epoch_;
  std::map<run_key, std::vector<const process_attempt*>> runs_;
  job_history result_;
};

} // namespace

job_history history_of(const std::vector<process_attempt>& attempts,
                       const std::map<std::uint64_t, std::uint64_t>& steps_of_epoch) {
  return history_builder{attempts, steps_of_epoch}.build();
}

} // namespace leat::command
