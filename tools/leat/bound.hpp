#pragma once

#include <leat/loader.hpp>

#include "tools/leat/feeds/feed_facts.hpp"
#include "tools/leat/remote/remote_facts.hpp"
#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace leat::command {

/// Where a job's time went, over all ranks of a process.
struct job_times {
  std::chrono::nanoseconds elapsed{0};
  /// Part of `elapsed` in which the trainer waited.
  std::chrono::nanoseconds waited{0};
  /// Number of worker threads; a rank without workers counts as one: the trainer's thread.
  std::size_t workers = 0;
  std::chrono::nanoseconds busy{0};
  /// Part of `busy` that iterators took.
  std::chrono::nanoseconds iterating{0};
  std::vector<stage_stats> stages = {};
  /// What servers were asked for in `elapsed`; empty if they were asked for nothing.
  std::optional<remote_stats> remote = {};
  /// What feeds gave in `elapsed`.
  std::vector<feed_stats> feeds = {};
};

/// Adds up the statistics of a process's loaders, but for `remote` and `feeds`.
job_times times_of(const std::vector<loader_stats>& ranks, std::chrono::nanoseconds elapsed,
                   std::chrono::nanoseconds waited);

/// What limits a job's speed most.
struct bound {
  enum class by {
    /// Not the loader: the trainer hardly waits.
    trainer,
    decoding,
    reading,
    /// A function of the pipeline, by its name.
    function,
    /// Writing rows to batches, and hashing them.
    writing,
    iterators,
    /// Workers and iterators wait as well: for records that have not arrived, or for a processor.
    input,
    // What is said in place of reading, iterators or input where it is bytes of remote files that
    // most of their time is spent waiting for (see remote_limit), or records of a feed:
    network,
    server,
    budget,
    feed,
    /// No batch, or no time.
    nothing,
  };
  by what = by::nothing;
  /// Name of the function, or of the stage that decodes or reads.
  std::string name = {};
  // Shares from 0 to 1.
  /// Share of the time that the trainer waited.
  double waiting = 0;
  /// Share of the workers' time that they were busy, and the limiting stage's share of that.
  double workers_busy = 0;
  double of_busy = 0;
  /// Of the workers' time that they ran iterators.
  double iterators_busy = 0;
  /// Of the workers' time that they waited for bytes of remote files.
  double awaiting_bytes = 0;
  /// Of `network`, `server` and `budget`.
  std::optional<remote_limit> remote = {};
  /// For `feed`, whose name is `name`: where it is, empty for nowhere, and its pace.
  std::string feed_at = {};
  std::optional<feed_pace> feed = {};
};

bound bound_of(const job_times& x);

/// "decoding in map train_image@1: 81% of the work; workers are busy 97% of the time"
std::string bound_text(const bound& x);

nlohmann::json bound_to_json(const bound& x);

} // namespace leat::command
