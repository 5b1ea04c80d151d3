#pragma once

#include "runtime/base/log_lines.hpp"
#include "runtime/job/bad_sample_log.hpp"
#include "runtime/job/job_progress.hpp"
#include "runtime/job/journal_retention.hpp"
#include "runtime/job/left_out_steps.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/weight_changes.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/hash128.hpp>
#include <leat/pipeline.hpp>
#include <leat/resume_point.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// The fields of a batch, for a pipeline with a source whose records exist once. They are learned
/// once and kept in snapshots, alike on all ranks: the samples that they were learned from may be
/// gone later. Other pipelines know their fields from the beginning.
struct once_fields {
  /// Empty: they are learned at `learn_at`.
  std::vector<field_layout> known = {};
  job_position learn_at = {};
  lane_states learn_lanes = {};
};

/// One rank's share of a training job, as a plain value: what it reads, where it stands, and what a
/// snapshot of it says.
struct rank_job {
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// The job's length, counted from epoch 0.
  std::uint64_t epochs = 1;
  std::uint64_t steps = UINT64_MAX;
  /// The most threads that unpack for the iterators; 0: theirs does it itself.
  std::size_t threads_ahead = 0;

  std::shared_ptr<const job_plan> plan;
  pipeline_facts facts;
  /// Encodes snapshots of these facts.
  snapshot_encoder encode{{}};
  hash128 data_digest;
  std::shared_ptr<journal_retention> records;
  bad_sample_log bad_log{{}};

  once_fields fields;
  left_out_steps left_out;
  weight_changes weights;
  job_progress at;

  /// The most rows that a batch of this rank has.
  std::size_t rows_per_batch() const noexcept;
  /// Batches to the end of the job, at most 2^64 - 1; only for epochs of a known length.
  std::uint64_t batches_left() const noexcept;
  bool is_over() const noexcept { return at.global_step >= steps; }
  resume_point position() const;

  /// The batch's fields must still be learned, by making samples, before an order is made.
  bool has_to_learn_fields() const noexcept { return plan->layout == nullptr; }
  void learn_fields(const doing& told);
  /// The batches from where the job stands. `calls` records what its iterators call in the thread
  /// of the order; null: the order lends its lanes.
  std::unique_ptr<batch_order> make_order(const std::shared_ptr<call_record>& calls) const;

  /// Moves past a batch that is not handed over.
  void pass(const batch_plan& x);
  /// Moves past a closed batch that is handed over. Throws `errc::io`, without moving, if the bad
  /// samples of the batch cannot be logged.
  void hand_over(const batch_slot& x);
  /// Starts the job over. Throws `errc::io`, and `errc::invalid_argument` for records that exist
  /// once.
  void rewind();
  /// Moves to the next epoch; false if the job stands at the beginning of one. Throws
  /// `errc::invalid_argument` for an endless epoch.
  bool abandon_epoch();
  /// Does not hand over these steps, see left_out_steps.
  void leave_out(const step_range& x) { left_out.add(x, at.global_step); }
  /// Makes a change of the mix's weights, see weight_changes; false if it was made already.
  /// `is_under_way`: batches are being made. Throws `errc::invalid_argument`.
  bool change_weights(const weight_change& x, bool is_under_way);

  /// False if records exist once and are not kept in a journal.
  bool can_snapshot() const noexcept;
  /// "Resume from there." Throws `errc::invalid_argument` unless can_snapshot().
  snapshot snapshot_at(const job_progress& x) const;
  /// The encoded snapshot at that place.
  std::string encoded_at(const job_progress& x) const { return encoded_at(x, weights.all()); }
  /// The same with other changes of weights: they may be made while leases keep the job as it was.
  std::string encoded_at(const job_progress& x, const weight_phases& changes) const;
  /// The line that begins a log here.
  attempt_start attempt() const;
  /// Id of a row's sample, as delivered.
  std::string id_of(const batch_slot& slot, std::size_t row) const;

private:
  snapshot make_snapshot(pipeline_facts of, const job_progress& x, lane_states lanes) const;
};

/// The job where it stands, as after a restore from there: nothing of what was made ahead is left.
/// Throws `errc::invalid_argument` unless snapshots can be taken of it.
rank_job as_restored(const rank_job& job);

} // namespace leat
