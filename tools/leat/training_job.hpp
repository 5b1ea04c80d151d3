#pragma once

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>
#include <leat/run_log.hpp>
#include <leat/step_range.hpp>

#include "tools/leat/rank_meeting.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
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
};

/// A synchronous trainer that only reads: all ranks of this process get the batches of a step, then
/// it "trains", then all save. A batch is in the log before a snapshot covers it.
/// Large because ranks of one process may have to agree, and may be stopped, in the middle of a
/// step.
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
  /// Statistics of each rank in this process.
  std::vector<loader_stats> stats() const;
  /// Digest of what all ranks of this process handed over since the job began.
  hash128 digest() const { return digest_; }
  /// Size of the largest part of a snapshot of the current step; 0 if there can be none.
  std::uint64_t snapshot_bytes() const;

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
  /// How many steps the log has from the job's position on, without those that were discarded
  /// since.
  std::uint64_t steps_in_log() const;
  bool is_clustered() const noexcept { return settings_.loader.cluster.has_value(); }
  void restore();
  void open_log();
  std::optional<std::uint64_t> steps_of_job() const;
  bool finished() const noexcept {
    return progress_.total_steps && progress_.global_step >= *progress_.total_steps;
  }
  void resize_if_due();
  bool hand_over();
  /// False if the job was asked to stop and some rank has no batch of the step.
  bool next_of_all_ranks();
  std::vector<std::exception_ptr> ask_all_ranks();
  hash128 digest_of_ranks() const;
  /// Takes over the position of the loaders.
  void note_position();
  void save_if_due(std::uint64_t step_before);
  void save();

  training_settings settings_;
  std::string token_field_;
  clock::time_point constructed_ = clock::now();
  clock::time_point began_ = {};
  /// Where ranks agree, if there are several. `must_meet_`: they have to agree on the end of
  /// epochs, so they must ask for their batches concurrently.
  std::shared_ptr<rank_meeting> meeting_;
  bool must_meet_ = false;
  std::vector<loader> loaders_;
  std::optional<run_log> log_;
  /// Leases of the step that all ranks have.
  std::vector<lease> leases_;
  /// Leases of the next step, while ranks are asked for it.
  std::vector<lease> next_leases_;
  /// Whether ranks may be interrupted while they wait for a batch: a single rank always, several
  /// only where records may never come. In that case (`keeps_step_`) several ranks keep the leases
  /// of their step until all have the next, since some may be ahead when the job is stopped.
  bool can_interrupt_ = false;
  bool keeps_step_ = false;
  std::atomic<bool> is_to_stop_ = false;
  hash128 digest_;
  std::optional<resume_point> resumed_at_;
  std::vector<std::string> skipped_;
  std::size_t next_resize_ = 0;
  training_progress progress_;
  /// The job's step at which the newest snapshot was taken.
  std::optional<std::uint64_t> saved_;
};

} // namespace leat::command
