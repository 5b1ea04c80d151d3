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
constexpr std::array words{"trainer", "decoding", "reading", "function", "writing", "iterators",
                           "input",   "network",  "server",  "budget",   "feed",    "nothing"};

/// Indexed by remote_limit::by.
constexpr std::array bounds_of_limits{bound::by::network, bound::by::server, bound::by::server,
                                      bound::by::budget};

/// Time that sources took to find and read records.
nanoseconds reading_in(const std::vector<stage_stats>& stages) {
  nanoseconds all{0};
  for (const auto& x : stages)
    if (x.what == stage_stats::kind::reading)
      all += x.time;
  return all;
}

/// What workers waited for bytes at most: threads that unpack files ahead of them wait, too, but
/// then workers do so in reading and iterating.
nanoseconds awaiting_bytes(const job_times& x) {
  return x.remote ? std::min(x.remote->waited, reading_in(x.stages) + x.iterating) : nanoseconds{0};
}

/// The part of the workers' time that is the bound, and in which they may have waited.
nanoseconds spent_on(bound::by what, const job_times& of) {
  return what == bound::by::reading     ? reading_in(of.stages)
         : what == bound::by::iterators ? of.iterating
         : what == bound::by::input     ? of.busy
                                        : nanoseconds{0};
}

/// Says what they wait for where that is bytes of remote files.
void name_limit(bound& x, const job_times& of) {
  const auto spent = spent_on(x.what, of);
  const auto awaited = awaiting_bytes(of);
  if (awaited.count() == 0 || 2 * awaited < spent || spent.count() == 0)
    return;
  x.remote = limit_of(*of.remote, of.elapsed);
  x.what = bounds_of_limits.at(static_cast<std::size_t>(x.remote->what));
}

/// Says which feed they wait for where that is one: its source has given nothing for half of the
/// time that the trainer waited, or workers waited for its records in half of their time.
void name_feed(bound& x, const job_times& of) {
  const auto spent = spent_on(x.what, of);
  const auto waits_for = [&](const feed_stats& feed) {
    return (feed.starved.count() > 0 && 2 * feed.starved >= of.waited)
           || (feed.waited.count() > 0 && 2 * feed.waited >= spent);
  };
  const auto longer = [](const feed_stats& a, const feed_stats& b) {
    return a.starved + a.fetching < b.starved + b.fetching;
  };
  const auto longest = std::max_element(of.feeds.begin(), of.feeds.end(), longer);
  if (spent.count() == 0 || longest == of.feeds.end() || !waits_for(*longest))
    return;
  x.what = bound::by::feed;
  x.name = longest->name;
  x.feed_at = longest->at;
  x.feed = pace_of(*longest, of.elapsed);
}

std::string feed_text(const bound& x) {
  const auto& pace = *x.feed;
  return "the feed " + x.name
         + (x.feed_at.empty() ? ", which nobody serves now" : " at " + x.feed_at) + ": "
         + (pace.starved >= pace.fetching
                ? "its source had not given what was asked for " + percent(pace.starved)
                : "workers waited for its records " + percent(pace.fetching))
         + " of the time; " + pace_text(pace) + " come";
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
  result.awaiting_bytes = std::min(1.0, share(awaiting_bytes(x), threads(x.workers)));
  name_limit(result, x);
  name_feed(result, x);
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
  case bound::by::network:
  case bound::by::server:
  case bound::by::budget:
    return limit_text(*x.remote) + "; workers wait for bytes " + percent(x.awaiting_bytes)
           + " of the time";
  case bound::by::feed:
    return feed_text(x);
  case bound::by::nothing:
    break;
  }
  return "nothing that was measured";
}

nlohmann::json bound_to_json(const bound& x) {
  nlohmann::json remote;
  if (x.remote)
    remote = {{"throttled", x.remote->throttled}, {"without_budget", x.remote->without_budget},
              {"queued", x.remote->queued},       {"answering", x.remote->answering},
              {"in_flight", x.remote->in_flight}, {"bytes_per_second", x.remote->bytes_per_second}};
  nlohmann::json feed;
  if (x.feed)
    feed = {{"at", x.feed_at.empty() ? nlohmann::json() : nlohmann::json(x.feed_at)},
            {"starved", x.feed->starved},
            {"fetching", x.feed->fetching},
            {"records_per_second", x.feed->records_per_second},
            {"bytes_per_second", x.feed->bytes_per_second}};
  return {{"what", words.at(static_cast<std::size_t>(x.what))},
          {"name", x.name.empty() ? nlohmann::json() : nlohmann::json(x.name)},
          {"waiting", x.waiting},
          {"workers_busy", x.workers_busy},
          {"of_workers_time", x.of_busy},
          {"iterators_busy", x.iterators_busy},
          {"awaiting_bytes", x.awaiting_bytes},
          {"remote", remote},
          {"feed", feed}};
}

} // namespace leat::command
