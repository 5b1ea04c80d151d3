#pragma once

#include <leat/pipeline.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// A keyed bijection of 0 .. n-1, computed in constant time and memory: an alternating Feistel
/// network on a rectangle hardly larger than n, with cycle walking. Pseudocode and test vectors in
/// docs/order.md.
/// Source: Black, Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.
class permutation {
public:
  /// n is at most 2^63; 0 is allowed and has no values. Different keys give unrelated bijections.
  permutation(std::uint64_t n, std::uint64_t key) noexcept;

  std::uint64_t size() const noexcept { return n_; }

  /// Where i goes; i below size().
  std::uint64_t operator()(std::uint64_t i) const noexcept;

private:
  static constexpr unsigned max_rounds = 24;

  std::uint64_t n_;
  /// Sides of the rectangle; both below 2^32, and n_ <= rows_ * columns_ < n_ + rows_ from n_ = 2
  /// up.
  std::uint64_t rows_;
  std::uint64_t columns_;
  unsigned rounds_;
  std::array<std::uint64_t, max_rounds> round_keys_{};
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

/// The order of one epoch of indexed data: a formula from positions to records, defined in
/// docs/order.md. Immutable, any thread; copies share their tables.
/// A position costs O(1) with full and none, which keep no table, and O(log files) with windowed,
/// which sets up a table of files. No cost grows with the number of records.
class epoch_order {
public:
  epoch_order(std::shared_ptr<const order_config> config, std::uint64_t epoch);

  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t records() const noexcept { return records_; }

  /// Global batches of this epoch.
  std::uint64_t batches() const noexcept;

  /// Rows of the epoch that exist: batches() * G, or the records if the last batch is masked.
  std::uint64_t positions() const noexcept;

  /// Record at a position, counted over all files in stored order; the position is below
  /// records().
  std::uint64_t record(std::uint64_t position) const noexcept;

  /// Items that lane l has in this epoch, also those that an end rule leaves out.
  std::uint64_t lane_items(std::uint64_t lane) const noexcept;

private:
  struct file_table;

  std::uint64_t windowed_record(std::uint64_t position) const noexcept;

  std::shared_ptr<const order_config> config_;
  std::uint64_t epoch_;
  std::uint64_t records_;
  /// Of all records; used by full.
  permutation shuffled_;
  /// Windowed only.
  std::shared_ptr<const file_table> files_;
};

} // namespace leat
