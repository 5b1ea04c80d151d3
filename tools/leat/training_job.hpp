#pragma once

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>
#include <leat/run_log.hpp>
#include <leat/step_range.hpp>

#include "tools/leat/ranks_in_step.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace leat::command {

/// Settings of a training job that only reads.
struct training_settings {
  /// Options of every loader; `rank` is the first one's.
  loader_options loader;
  /// Number of ranks in this process, in lock step: 1, or all of loader.world_size.
  std::uint64_t ranks = 1;
  /// Epoch to begin with when nothing is restored.
  std::uint64_t first_epoch = 0;
  /// Empty: no snapshots.
  std::string snapshot_dir = {};
  /// Saves after every so many steps of the job (if that step is left out, after the next one), and
  /// at the job's end.
  std::uint64_t snapshot_every = 100;
  bool resume = false;
  restore_options restore = {};
  /// Log of batches; empty: none.
  std::string log = {};
  /// Steps of the job that are not handed over.
  std::vector<step_range> left_out = {};
  /// Changes of the weights of the job's mix.
  std::vector<weight_change> weights = {};
  /// Before this step of the job is handed over, each loader is given so many workers.
  struct resize {
    std::uint64_t step = 0;
    std::size_t workers = 1;
  };
  /// In rising order of steps.
  std::vector<resize> resizes = {};
  /// How long the trainer takes for each batch.
  std::chrono::milliseconds step_time{0};

  bool is_clustered() const noexcept { return loader.cluster.has_value(); }
};

/// Totals of the job, and of this process's part in it.
struct training_progress {
  /// Place of the next batch; at the end of the job, after any steps that are left out.
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t global_step = 0;
  /// The step at which the job ends; nothing if only the data can tell.
  std::optional<std::uint64_t> total_steps = {};
  /// Samples that this process handed over.
  std::uint64_t samples = 0;
  /// Elements of the token field in these samples; 0 if there is no such field: see token_field.
  std::uint64_t tokens = 0;
  std::chrono::nanoseconds elapsed{0};
  /// Part of `elapsed` in which the trainer waited for data.
  std::chrono::nanoseconds waited{0};
  /// Time from before the construction of the loaders until all ranks had a batch; nothing before
  /// that.
  std::optional<std::chrono::nanoseconds> first_batch = {};
  /// Of what all ranks of this process handed over since the job began.
  hash128 digest = {};

  bool is_done() const noexcept { return total_steps && global_step >= *total_steps; }
};

/// A synchronous trainer that only reads: all ranks of this process get the batches of a step, then
/// it "trains", then all save. A batch is in the log before a snapshot covers it.
class training_job {
public:
  /// Constructs the loaders and restores them. Throws `leat::error`.
  training_job(const pipeline& data, training_settings settings);

  /// Trains to the end, or until it is asked to stop. Calls `watch` after every step. Throws
  /// `leat::error`; the log and earlier snapshots stay valid.
  void run(const std::function<void(const training_progress&)>& watch);

  /// Makes run() return after the step in progress, with a snapshot if it saves any. It does not
  /// wait for a step that no rank has yet, nor for one whose records may never come. Any thread.
  void request_stop();

  const training_progress& progress() const noexcept { return progress_; }
  std::optional<resume_point> resumed_at() const noexcept { return resumed_at_; }
  /// Newer snapshot sets that were skipped because they could not be used.
  const std::vector<std::string>& skipped() const noexcept { return skipped_; }
  const ranks_in_step& ranks() const noexcept { return ranks_; }

private:
  using clock = std::chrono::steady_clock;

  void begin();
  void join();
  /// Passes to the loaders which steps to leave out and how weights change.
  void tell_changes();
  /// Trains up to the last batch, or until it is asked to stop.
  void train(const std::function<void(const training_progress&)>& watch);
  /// Saves at the end, and waits for other processes.
  void end();
  /// Continues after the ranks have regrouped: all have gone back, or only this one was lost.
  void go_back();
  void resume_from_log();
  void restore();
  void open_log();
  void resize_if_due();
  /// Gives every rank its part of the next step. False after the last step, or if the job was
  /// stopped.
  bool hand_over();
  /// Takes over the position of the loaders.
  void note_position();
  void save();

  training_settings settings_;
  std::string token_field_;
  clock::time_point constructed_ = clock::now();
  clock::time_point began_ = {};
  ranks_in_step ranks_;
  std::optional<run_log> log_;
  std::atomic<bool> is_to_stop_ = false;
  std::optional<resume_point> resumed_at_;
  std::vector<std::string> skipped_;
  std::size_t next_resize_ = 0;
  training_progress progress_;
  /// The job's step at which the newest snapshot was taken.
  std::optional<std::uint64_t> saved_;
};

} // namespace leat::command
