#include "tools/leat/remote/remote_facts.hpp"

#include "tools/leat/output.hpp"

#include <algorithm>

namespace leat::command {

namespace {

using std::chrono::nanoseconds;

/// A server that refuses a larger share of the requests is what limits: each of these halves what
/// may be in flight.
constexpr double is_throttled = 0.02;
/// What lasts for a larger share of the time is what limits.
constexpr double is_most = 0.5;

double part_of_time(nanoseconds part, nanoseconds whole) {
  return whole.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(whole.count())
                           : 0;
}

std::string rate_text(double bytes_per_second) {
  return readable_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes_per_second)));
}

} // namespace

std::optional<remote_stats> remote_of(const std::vector<loader_stats>& ranks) {
  const auto at =
      std::find_if(ranks.begin(), ranks.end(), [](const auto& x) { return x.remote.has_value(); });
  return at == ranks.end() ? std::nullopt : at->remote;
}

std::optional<remote_stats> since(const std::optional<remote_stats>& before,
                                  const std::optional<remote_stats>& now) {
  if (!before || !now)
    return now;
  auto x = *now;
  x.bytes_received -= before->bytes_received;
  x.requests -= before->requests;
  x.retries -= before->retries;
  x.hedges -= before->hedges;
  x.hedges_won -= before->hedges_won;
  x.throttled -= before->throttled;
  x.cache_hits -= before->cache_hits;
  x.waited -= before->waited;
  x.budget_waits -= before->budget_waits;
  x.without_budget -= before->without_budget;
  x.queued -= before->queued;
  x.requesting -= before->requesting;
  x.answering -= before->answering;
  return x;
}

remote_limit limit_of(const remote_stats& x, nanoseconds elapsed) {
  using by = remote_limit::by;
  const auto seconds = in_seconds(elapsed);
  remote_limit found{
      .throttled =
          x.requests > 0 ? static_cast<double>(x.throttled) / static_cast<double>(x.requests) : 0,
      .without_budget = std::min(1.0, part_of_time(x.without_budget, elapsed)),
      .queued = std::min(1.0, part_of_time(x.queued, elapsed)),
      .answering = std::min(1.0, part_of_time(x.answering, x.requesting)),
      .in_flight = part_of_time(x.requesting, elapsed),
      .bytes_per_second = seconds > 0 ? static_cast<double>(x.bytes_received) / seconds : 0};
  if (found.throttled >= is_throttled)
    found.what = by::throttling;
  else if (found.without_budget >= is_most && found.queued < is_most)
    found.what = by::budget; // where requests queue, a larger budget makes the queue longer
  else if (found.answering >= is_most)
    found.what = by::slow_answers;
  return found;
}

std::string limit_text(const remote_limit& x) {
  const auto rate = ": " + rate_text(x.bytes_per_second) + "/s come, with " + fixed(x.in_flight, 1)
                    + " requests in flight";
  switch (x.what) {
  case remote_limit::by::throttling:
    return "the server, which refused " + percent(x.throttled)
           + " of the requests for being too many (503, 429)" + rate;
  case remote_limit::by::slow_answers:
    return "the server, which takes " + percent(x.answering)
           + " of the time of a request to begin its answer" + rate;
  case remote_limit::by::budget:
    return "the budget for reading ahead (--remote-bytes), which is used up "
           + percent(x.without_budget) + " of the time" + rate;
  case remote_limit::by::network:
    break;
  }
  return "the network" + rate;
}

nlohmann::json remote_to_json(const std::optional<remote_stats>& x) {
  if (!x)
    return {};
  return {{"bytes_received", x->bytes_received},
          {"requests", x->requests},
          {"retries", x->retries},
          {"hedges", x->hedges},
          {"hedges_won", x->hedges_won},
          {"throttled", x->throttled},
          {"cache_hits", x->cache_hits},
          {"waited_seconds", in_seconds(x->waited)},
          {"budget_waits", x->budget_waits},
          {"without_budget_seconds", in_seconds(x->without_budget)},
          {"queued_seconds", in_seconds(x->queued)},
          {"requesting_seconds", in_seconds(x->requesting)},
          {"answering_seconds", in_seconds(x->answering)}};
}

std::string remote_text(const remote_stats& x) {
  auto text = readable_bytes(x.bytes_received) + " in " + with_commas(x.requests)
              + " requests, of which " + with_commas(x.retries) + " were retries and "
              + with_commas(x.hedges) + " second ones for slow ones";
  if (x.throttled > 0)
    text += "; " + with_commas(x.throttled) + " were refused for being too many";
  if (x.cache_hits > 0)
    text += "; " + with_commas(x.cache_hits) + " reads came from the cache";
  return text;
}

std::string remote_progress(const std::optional<remote_stats>& x, nanoseconds elapsed) {
  if (!x)
    return {};
  auto text = "received " + readable_bytes(x->bytes_received) + " at "
              + rate_text(limit_of(*x, elapsed).bytes_per_second) + "/s, "
              + with_commas(x->requests) + " requests, " + with_commas(x->retries) + " retries";
  if (x->cache_hits > 0)
    text += ", " + with_commas(x->cache_hits) + " cache hits";
  return text;
}

} // namespace leat::command
