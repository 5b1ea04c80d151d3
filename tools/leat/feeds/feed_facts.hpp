#pragma once

#include <leat/loader_stats.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace leat::command {

/// Those of all loaders of a process.
std::vector<feed_stats> feeds_of(const std::vector<loader_stats>& ranks);

/// What this process has had of them since then. Where they stand, and what the feeds' processes
/// state, is as it is now.
std::vector<feed_stats> feeds_since(const std::vector<feed_stats>& before,
                                    std::vector<feed_stats> now);

/// How fast a feed gave what it did, and the shares of the time, from 0 to 1, in which it was
/// waited for.
struct feed_pace {
  double records_per_second = 0;
  double bytes_per_second = 0;
  /// For records that its source had not given.
  double starved = 0;
  /// For records on their way.
  double fetching = 0;
};

/// `x`: what was added in this time.
feed_pace pace_of(const feed_stats& x, std::chrono::nanoseconds elapsed);

/// "502 records and 1.2 MB per second"
std::string pace_text(const feed_pace& x);

/// Lines for the summary: who serves it and how far it is, what records cost on the way, and how
/// long they were waited for. `x`: what was added in this time.
std::vector<std::string> feed_lines(const feed_stats& x, std::chrono::nanoseconds elapsed);

/// An array with one object per feed.
nlohmann::json feeds_to_json(const std::vector<feed_stats>& x, std::chrono::nanoseconds elapsed);

} // namespace leat::command
