#pragma once

#include "runtime/order/lane_state.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <cstdint>
#include <memory>

namespace leat {

/// Where one rank's job stands, after the last batch that was handed over or left out, and what it
/// has handed over so far.
struct job_progress {
  /// The next batch.
  job_position next = {};
  /// Steps of the job before that batch, left out or handed over.
  std::uint64_t global_step = 0;
  /// Where the ranks' sums were last merged: see snapshot::began.
  std::uint64_t began = 0;
  handed_over sums = {};
  /// The states of the rank's lanes; null at the beginning of an epoch, and for an indexed order.
  std::shared_ptr<const lane_states> lanes = {};
  /// The job resumed from a snapshot.
  bool is_resumed = false;

  /// Moves past a batch, handed over or left out.
  void pass(const batch_plan& x);
  /// Adds a closed batch that is handed over to the sums.
  void count(const batch_slot& x);
};

} // namespace leat
