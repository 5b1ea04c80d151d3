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

/// What a pretended training job does.
struct training_settings {
  /// Options of every loader; `rank` is the first one's.
  loader_options loader;
  /// Ranks in this process, in lock step: 1, or all of loader.world_size.
  std::uint64_t ranks = 1;
  /// Epoch to begin with when nothing is restored.
  std::uint64_t first_epoch = 0;
  /// Empty: no snapshots.
  std::string snapshot_dir = {};
  /// Saves after every so many steps of the job (if that step is left out, after the next one), and
  /// at its end.
  std::uint64_t snapshot_every = 100;
  bool resume = false;
  restore_options restore = {};
  /// Log of batches; empty: none.
  std::string log = {};
  /// Steps of the job that are not handed over.
  std::vector<step_range> left_out = {};
  /// Changes of the weights of the job's mix.
  std::vector<weight_change> weights = {};
  /// Before this step of the job is handed over, each loader gets so many workers.
  struct resize {
    std::uint64_t step = 0;
    std::size_t workers = 1;
  };
  /// In rising order of steps.
  std::vector<resize> resizes = {};
  /// What the trainer does with a batch takes so long.
  std::chrono::milliseconds step_time{0};
};

/// Totals of the job, and of this process's part in it.
struct training_progress {
  /// The next batch; if the job is over, the one after all that were left out.
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint64_t global_step = 0;
  /// Steps at which the job ends; empty where the data say.
  std::optional<std::uint64_t> total_steps = {};
  /// By this process.
  std::uint64_t samples = 0;
  /// Elements of the field that holds tokens, in these; 0 if there is none: see token_field.
  std::uint64_t tokens = 0;
  std::chrono::nanoseconds elapsed{0};
  /// Part of `elapsed` in which the trainer waited for data.
  std::chrono::nanoseconds waited{0};
  /// From before the loaders were constructed until all ranks had a batch; empty before.
  std::optional<std::chrono::nanoseconds> first_batch = {};
};

/// A synchronous trainer that only reads: all ranks of this process get a step's batches, then it
/// "trains", then all save. A batch is in the log before a snapshot covers it.
/// Large because ranks of one process may have to agree, and may be stopped, in the middle of a
/// step.
class training_job {
public:
  /// Constructs the loaders and restores them. Throws `leat::error`.
  training_job(const pipeline& data, training_settings settings);

  /// Trains to the end, or until it is asked to stop. `watch` is called after every step. Throws
  /// `leat::error`; the log and earlier snapshots stay good.
  void run(const std::function<void(const training_progress&)>& watch);

  /// Lets run() return after the step in progress, with a snapshot where it saves any. A step that
  /// no rank has yet is not waited for, and neither is one of records that may never come. Any
  /// thread.
  void request_stop();

  const training_progress& progress() const noexcept { return progress_; }
  std::optional<resume_point> resumed_at() const noexcept { return resumed_at_; }
  /// Newer snapshot sets that could not be used.
  const std::vector<std::string>& skipped() const noexcept { return skipped_; }
  /// Statistics of each rank in this process.
  std::vector<loader_stats> stats() const;
  /// Digest of what all ranks of this process handed over since the job began.
  hash128 digest() const { return digest_; }
  /// Of the largest part of a snapshot of the present step; 0 where there can be none.
  std::uint64_t snapshot_bytes() const;

private:
  using clock = std::chrono::steady_clock;

  void begin();
  void join();
  /// Tells the loaders which steps to leave out, and how weights change.
  void tell_changes();
  /// Trains up to the last batch, or until it is asked to stop.
  void train(const std::function<void(const training_progress&)>& watch);
  /// Saves at the end, and waits for other processes.
  void end();
  /// Other ranks have gone back, and this one with them; or only this one was lost.
  void go_back();
  void resume_from_log();
  /// Steps that the log has after where the job stands, and that count.
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
  /// False where the job was asked to stop, and some rank has no batch of the step.
  bool next_of_all_ranks();
  std::vector<std::exception_ptr> ask_all_ranks();
  hash128 digest_of_ranks() const;
  /// What the loaders say.
  void note_position();
  void save_if_due(std::uint64_t step_before);
  void save();

  training_settings settings_;
  std::string token_field_;
  clock::time_point constructed_ = clock::now();
  clock::time_point began_ = {};
  /// Ranks that have to agree ask for their batches at the same time.
  std::shared_ptr<rank_meeting> meeting_;
  bool must_meet_ = false;
  std::vector<loader> loaders_;
  std::optional<run_log> log_;
  /// Of the step that all ranks have.
  std::vector<lease> leases_;
  /// Of the next one, while ranks are asked for it.
  std::vector<lease> next_leases_;
  /// Ranks are stopped while they wait for a batch: one rank always, several where records may
  /// never come. Several then keep their step until all have the next: some may be ahead when it
  /// ends.
  bool can_interrupt_ = false;
  bool keeps_step_ = false;
  std::atomic<bool> is_to_stop_ = false;
  hash128 digest_;
  std::optional<resume_point> resumed_at_;
  std::vector<std::string> skipped_;
  std::size_t next_resize_ = 0;
  training_progress progress_;
  /// Job step after which the newest snapshot was taken.
  std::optional<std::uint64_t> saved_;
};

} // namespace leat::command
