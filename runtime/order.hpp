#pragma once

#include <leat/pipeline.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

/// A keyed bijection of 0 .. n-1, computed in constant time and memory: an alternating Feistel
/// network on the smallest rectangle that holds n, with cycle walking. Layout in docs/order.md.
class permutation {
public:
  /// n = 0 is allowed and has no values.
  permutation(std::uint64_t n, std::uint64_t key);

  std::uint64_t size() const noexcept { return n_; }

  /// Where i goes; i below size().
  std::uint64_t operator()(std::uint64_t i) const noexcept;

  // (the network's state: for the implementer to decide)
private:
  std::uint64_t n_;
  std::uint64_t key_;
};

/// Everything that fixes the order of a job.
struct order_config {
  shuffle_options shuffle;
  /// Rows of the global batch G, at least 1.
  std::uint64_t batch_rows = 1;
  /// L, at least 1, divides G.
  std::uint64_t lanes = 1;
  epoch_end end = epoch_end::drop;
  /// Digest of the data: two data sets of one size have unrelated orders.
  hash128 data_digest;
  /// Ordinal of the source in the pipeline.
  std::uint64_t source = 0;
  /// Records of each stored file, in stored order.
  std::vector<std::uint64_t> records_per_file;
};

/// L of a pipeline: what the user said, or the default (architecture 4). Throws
/// `errc::invalid_argument` when it does not divide the global batch.
std::uint64_t lanes_of(const batch_options& batch, std::uint64_t batch_rows,
                       const shuffle_options& shuffle, std::uint64_t files);

/// The order of one epoch of indexed data: a formula from positions to records.
/// Immutable; full and none take constant time and memory, windowed O(files) to set up and
/// O(log files) for a position.
class epoch_order {
public:
  epoch_order(std::shared_ptr<const order_config> config, std::uint64_t epoch);

  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t records() const noexcept { return records_; }

  /// Global batches of this epoch.
  std::uint64_t batches() const noexcept;

  /// Rows of the epoch that exist: batches() * G, or the records if the last batch is masked.
  std::uint64_t positions() const noexcept;

  /// Record at a position; the position is below records().
  std::uint64_t record(std::uint64_t position) const noexcept;

  /// Items that lane l has in this epoch, also those that an end rule leaves out.
  std::uint64_t lane_items(std::uint64_t lane) const noexcept;

private:
  std::shared_ptr<const order_config> config_;
  std::uint64_t epoch_;
  std::uint64_t records_;
};

} // namespace leat
