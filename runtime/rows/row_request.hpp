#pragma once

#include "runtime/order/iterators/iterator.hpp"
#include "runtime/order/order.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

struct lane_state;

/// What one row is to be made of: all that a worker needs besides the plan of the job, as a value.
struct row_request {
  std::uint64_t epoch = 0;
  /// Of the row in its epoch.
  std::uint64_t position = 0;
  /// Where the order is a formula: the item that stands there.
  epoch_item own;
  /// Elsewhere: the item, and when it was given.
  item what;
  lap when;
  /// Of a probe: the edge whose operator wants to know what is in the item.
  std::optional<std::size_t> edge;
};

/// How far a rank knows the epoch, when it opens a batch: what ranks agree on.
struct epoch_horizon {
  /// Batches of the epoch that the rank has rows for.
  std::uint64_t batches = 0;
  /// There will not be more.
  bool is_final = false;
};

/// What is known of a batch before its rows run.
struct batch_plan {
  enum class kind : std::uint8_t {
    batch,
    /// Behind the last batch of the job.
    end,
    /// `failure` tells why there is no batch: as planned, or the first one of its rows.
    failed,
    /// No batch, but items that workers look at for an iterator.
    probe,
  };

  kind what = kind::batch;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  /// Known where the rank knows by itself; else next() finds out.
  bool end_of_epoch = false;
  epoch_horizon horizon = {};
  /// Of pipelines ordered by iterators: the state after this batch.
  std::shared_ptr<const std::vector<lane_state>> lanes = {};
  std::optional<error> failure = {};
};

/// In place of whatever batch is next, of any epoch.
batch_plan failed_batch(error problem) noexcept;

/// A batch, or a probe, as an order gives it: its plan and what its rows are. Used again and again,
/// as its items keep their memory.
struct planned_batch {
  batch_plan plan;
  /// Of the job, as loader::rewind counts them.
  std::uint64_t run = 0;
  /// The first `rows` of these count.
  std::vector<row_request> requests;
  std::size_t rows = 0;

  /// One row more, to be written; what it held before may still stand there.
  row_request& add() {
    if (rows == requests.size())
      requests.emplace_back();
    return requests[rows++];
  }
};

} // namespace leat
