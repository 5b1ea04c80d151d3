#pragma once

#include "messages/epoch_horizon.hpp"
#include "runtime/order/iterators/iterator.hpp"
#include "runtime/order/order.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

class rank_lane;
struct lane_state;

/// What one row is to be made of: all that a worker needs besides the job's plan, as a value.
struct row_request {
  std::uint64_t epoch = 0;
  /// Position of the row in its epoch.
  std::uint64_t position = 0;
  /// For an indexed order: the item at this position.
  epoch_item own;
  /// For iterators: the item, and the lap in which it was given.
  item what;
  lap when;
  /// For a probe: the edge whose operator wants to know what is in the item.
  std::optional<std::size_t> edge;
  /// For a turn: the lane that is to run, and whether its items are probed where it runs.
  std::shared_ptr<rank_lane> lane;
  bool probes = false;
};

/// The horizon of an epoch without end: nobody has to wait for anyone.
inline constexpr epoch_horizon endless_horizon{UINT64_MAX, true};

/// What is known about a batch before its rows run.
struct batch_plan {
  enum class kind : std::uint8_t {
    batch,
    /// After the last batch of the job.
    end,
    /// `failure` says why there is no batch: as planned, or the first failure of its rows.
    failed,
    /// Not a batch, but items that workers probe for an iterator.
    probe,
    /// Not a batch, but lanes whose iterators workers run.
    turns,
  };

  kind what = kind::batch;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Set if the rank can know it by itself; otherwise next() finds out.
  bool end_of_epoch = false;
  /// What was known of the batch's epoch when it was opened. Not for failures.
  epoch_horizon horizon = {};
  /// For pipelines ordered by iterators: the state after this batch.
  std::shared_ptr<const std::vector<lane_state>> lanes = {};
  std::optional<error> failure = {};
};

/// The plan of a failure, in place of the next batch, of any epoch.
batch_plan failed_batch(error problem) noexcept;

/// A batch, a probe, or turns, as an order gives it: its plan and its rows' requests. It is reused,
/// because its items keep their memory.
struct planned_batch {
  batch_plan plan;
  /// Run of the job, as loader::rewind counts them.
  std::uint64_t run = 0;
  /// The first `rows` of these count.
  std::vector<row_request> requests;
  std::size_t rows = 0;

  /// Adds one row, for the caller to write; it may still hold what it held before.
  row_request& add() {
    if (rows == requests.size())
      requests.emplace_back();
    return requests[rows++];
  }
};

} // namespace leat
