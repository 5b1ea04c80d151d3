#pragma once

#include "runtime/order/epoch_outlook.hpp"
#include "runtime/order/lane_round.hpp"
#include "runtime/order/order.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/mix_weights.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/lane_loans.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Where the iterators of a rank begin.
struct iterator_start {
  job_position at;
  /// After the batch before `at`; empty at the beginning of an epoch.
  lane_states lanes = {};
  /// Records what the iterators call; may be empty.
  std::shared_ptr<call_record> calls = {};
  /// The job's changes of a mix's weights; may be empty.
  weight_phases changes = {};
  /// The most threads that unpack for the iterators; 0: theirs does it itself.
  std::size_t threads_ahead = 0;
  /// Items of a lane per step of these and of schedules; 0: those of a batch.
  std::uint64_t items_per_step = 0;
  /// Lanes run only where `open_turns` gives them, not in the thread of the order.
  bool lends_lanes = false;
};

/// Batches of a pipeline that is ordered by iterators: runs the iterators of the rank's lanes
/// ahead, and takes m = G / L items of each lane for every batch.
class iterator_order final : public batch_order {
public:
  /// `epochs`: the job's length. The world size divides the lanes. Throws `errc::bad_snapshot` for
  /// states of other lanes, or of another pipeline.
  iterator_order(std::shared_ptr<const sample_graph> plan, const epoch_geometry& shape,
                 std::uint64_t rank, std::uint64_t world_size, std::uint64_t epochs,
                 const iterator_start& start);

  bool open(planned_batch& batch) override;
  void begin_epoch(std::uint64_t epoch) override;
  job_position next() const noexcept override { return next_; }
  epoch_horizon horizon() const override;
  bool open_probe(planned_batch& probe, std::size_t most) override {
    return lanes_.open_probe(probe, most);
  }
  void close_probe(batch_slot& slot) override { lanes_.close_probe(slot); }
  bool open_turns(planned_batch& turns, std::size_t workers) override;
  void close_turns(batch_slot& slot) override { lanes_.close_turns(slot); }
  void wake() override { lanes_.wake(); }
  bool wants_to_run() const noexcept override { return wants_to_run_; }
  bool wait_for_feed(const std::atomic<bool>& stop) override { return lanes_.wait_for_feed(stop); }

private:
  /// The epochs of the job are over.
  bool is_over() const noexcept { return !shape_.is_endless() && next_.epoch >= epochs_; }
  /// Measures the lanes, and says what they tell.
  epoch_outlook look_ahead(std::vector<lane_supply>& lanes) const;
  epoch_horizon horizon_of(const epoch_outlook& ahead) const;
  /// Adds the rows of the next batch.
  void fill(planned_batch& batch);
  /// States of the lanes, after the items that were taken.
  std::shared_ptr<const lane_states> states() const;
  void advance(bool is_last);
  /// Lets the iterators run one batch further ahead, up to their limit.
  void run_further();

  std::shared_ptr<const sample_graph> plan_;
  epoch_geometry shape_;
  std::uint64_t world_size_;
  std::uint64_t epochs_;
  /// Items of each lane per batch.
  std::size_t items_per_lane_;
  /// Items that may wait in each lane, now and at most.
  std::size_t ahead_;
  std::size_t most_ahead_;
  job_position next_;
  std::shared_ptr<const lane_surroundings> around_;
  lane_loans lanes_;
  bool lends_lanes_;
  /// The last run in this thread was cut short.
  bool wants_to_run_ = false;
  /// What the lanes had for the batch that was opened last: only its memory is used again.
  std::vector<lane_supply> supplies_;
};

} // namespace leat
