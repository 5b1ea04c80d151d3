#include "tools/leat/bound.hpp"

#include "tools/leat/output.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace leat::command {

namespace {

using std::chrono::nanoseconds;

/// If the trainer waits for a smaller share of the time, it is itself the bound.
constexpr double hardly_waits = 0.1;
/// If workers and iterators are busy for a smaller share, they wait for something else.
constexpr double is_busy = 0.5;

double share(nanoseconds part, nanoseconds whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count())
                           : 0;
}

/// Indexed by stage_stats::kind.
constexpr std::array bounds_of_stages{bound::by::reading, bound::by::decoding, bound::by::function,
                                      bound::by::writing};

/// Indexed by bound::by.
constexpr std::array words{"trainer", "decoding",  "reading", "function",
                           "writing", "iterators", "input",   "nothing"};

std::string percent(double x) {
  return fixed(100 * x, 0) + "%";
}

/// Sets the bound to the stage that takes longest.
void name_stage(bound& x, const std::vector<stage_stats>& stages) {
  nanoseconds all{0};
  for (const auto& stage : stages)
    all += stage.time;
  const auto longest = std::max_element(
      stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  if (longest == stages.end() || all.count() == 0) {
    x.what = bound::by::input;
    return;
  }
  x.what = bounds_of_stages.at(static_cast<std::size_t>(longest->what));
  x.name = x.what == bound::by::writing ? "" : longest->name;
  x.of_busy = share(longest->time, all);
}

} // namespace

job_times times_of(const std::vector<loader_stats>& ranks, nanoseconds elapsed,
                   nanoseconds waited) {
  job_times result{.elapsed = elapsed, .waited = waited};
  for (const auto& x : ranks) {
    result.workers += std::max<std::size_t>(1, x.workers.size());
    for (const auto& worker : x.workers)
      result.busy += worker.busy;
    result.iterating += x.iterating;
    result.stages.resize(std::max(result.stages.size(), x.stages.size()));
    for (std::size_t i = 0; i < x.stages.size(); ++i) {
      result.stages[i].name = x.stages[i].name;
      result.stages[i].what = x.stages[i].what;
      result.stages[i].time += x.stages[i].time;
    }
  }
  return result;
}

bound bound_of(const job_times& x) {
  bound result;
  if (x.elapsed.count() <= 0 || x.busy.count() <= 0)
    return result;
  result.waiting = share(x.waited, x.elapsed);
  const auto threads = [&](std::size_t n) {
    return x.elapsed * static_cast<long>(std::max<std::size_t>(1, n));
  };
  result.workers_busy = std::min(1.0, share(x.busy, threads(x.workers)));
  result.iterators_busy = std::min(1.0, share(x.iterating, threads(x.workers)));
  if (result.waiting < hardly_waits)
    result.what = bound::by::trainer;
  else if (result.workers_busy < is_busy)
    result.what = bound::by::input;
  else if (result.iterators_busy > result.workers_busy - result.iterators_busy)
    result.what = bound::by::iterators;
  else
    name_stage(result, x.stages);
  return result;
}

std::string bound_text(const bound& x) {
  const auto busy = "; workers are busy " + percent(x.workers_busy) + " of the time";
  const auto of_work = percent(x.of_busy) + " of their work";
  switch (x.what) {
  case bound::by::trainer:
    return "the trainer, which waits for data " + percent(x.waiting) + " of the time";
  case bound::by::decoding:
    return "decoding: " + x.name + " is " + of_work + busy;
  case bound::by::reading:
    return "reading: " + x.name + " is " + of_work + busy;
  case bound::by::function:
    return x.name + ", which is " + of_work + busy;
  case bound::by::writing:
    return "writing rows to batches, " + of_work + busy;
  case bound::by::iterators:
    return "the iterators, which take " + percent(x.iterators_busy) + " of the workers' time"
           + busy;
  case bound::by::input:
    return "what comes in, or other processes: the trainer waits " + percent(x.waiting)
           + " of the time" + busy;
  case bound::by::nothing:
    break;
  }
  return "nothing that was measured";
}

nlohmann::json bound_to_json(const bound& x) {
  return {{"what", words.at(static_cast<std::size_t>(x.what))},
          {"name", x.name.empty() ? nlohmann::json() : nlohmann::json(x.name)},
          {"waiting", x.waiting},
          {"workers_busy", x.workers_busy},
          {"of_workers_time", x.of_busy},
          {"iterators_busy", x.iterators_busy}};
}

} // namespace leat::command
