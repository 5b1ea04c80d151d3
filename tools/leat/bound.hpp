#pragma once

#include <leat/loader.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace leat::command {

/// What a job spent its time on, over all ranks of a process.
struct job_times {
  std::chrono::nanoseconds elapsed{0};
  /// Part of `elapsed` in which the trainer waited.
  std::chrono::nanoseconds waited{0};
  /// Threads of workers, those without any counted as one: the trainer's.
  std::size_t workers = 0;
  std::chrono::nanoseconds busy{0};
  /// Threads that iterators ran in, one for each rank, and how long they ran.
  std::size_t ranks = 1;
  std::chrono::nanoseconds iterating{0};
  std::vector<stage_stats> stages = {};
};

/// Adds up what the loaders of a process counted.
job_times times_of(const std::vector<loader_stats>& ranks, std::chrono::nanoseconds elapsed,
                   std::chrono::nanoseconds waited);

/// What holds a job up most.
struct bound {
  enum class by {
    /// Nothing of the loader: the trainer hardly waits.
    trainer,
    decoding,
    reading,
    /// A function of the pipeline, by its name.
    function,
    /// Writing rows to batches, and hashing them.
    writing,
    iterators,
    /// Workers and iterators wait, too: for records that have not come, or for a processor.
    input,
    /// No batch, or no time.
    nothing,
  };
  by what = by::nothing;
  /// Of the function, or of the stage that decodes or reads.
  std::string name = {};
  // Shares of 0 to 1.
  /// Of the time that the trainer waited.
  double waiting = 0;
  /// Of the workers' time that they were busy, and of that the part of what holds up.
  double workers_busy = 0;
  double of_busy = 0;
  double iterators_busy = 0;
};

bound bound_of(const job_times& x);

/// "decoding in map train_image@1: 81% of the work; workers are busy 97% of the time"
std::string bound_text(const bound& x);

nlohmann::json bound_to_json(const bound& x);

} // namespace leat::command
