#pragma once

#include <leat/loader_stats.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace leat::command {

/// Those of a process: each of its loaders has all of them.
std::optional<remote_stats> remote_of(const std::vector<loader_stats>& ranks);

/// What has been added since then, but for `in_flight`.
std::optional<remote_stats> since(const std::optional<remote_stats>& before,
                                  const std::optional<remote_stats>& now);

/// What limits how fast bytes come.
struct remote_limit {
  enum class by {
    /// The way to the servers.
    network,
    /// They refuse requests for being too many.
    throttling,
    /// They take long to begin their answers.
    slow_answers,
    /// What may be read ahead.
    budget,
  };
  by what = by::network;
  // Shares from 0 to 1.
  /// Share of the requests that were refused for being too many.
  double throttled = 0;
  /// Share of the time in which reading ahead had all its bytes, and in which servers were asked
  /// for as much as they may be asked.
  double without_budget = 0;
  double queued = 0;
  /// What servers took to begin their answers, as a share of the time of all requests.
  double answering = 0;
  /// Requests that were in flight, on average, and bytes of their answers.
  double in_flight = 0;
  double bytes_per_second = 0;
};

/// `x`: what was added in this time.
remote_limit limit_of(const remote_stats& x, std::chrono::nanoseconds elapsed);

/// "the network: 83 MB/s come, with 120.0 requests in flight"
std::string limit_text(const remote_limit& x);

/// Null if no server was asked.
nlohmann::json remote_to_json(const std::optional<remote_stats>& x);

/// "1.2 GB in 12,345 requests, of which 17 were retries and 3 second ones for slow ones"
std::string remote_text(const remote_stats& x);

/// For the line that shows progress: "received 1.2 GB at 83 MB/s, 12,345 requests, 17 retries";
/// empty if no server was asked. `x`: what was added in this time.
std::string remote_progress(const std::optional<remote_stats>& x, std::chrono::nanoseconds elapsed);

} // namespace leat::command
