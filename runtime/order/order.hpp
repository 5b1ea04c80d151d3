#pragma once

#include <leat/pipeline.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// A keyed bijection of 0 .. n-1, computed in constant time and memory: an alternating Feistel
/// network on a rectangle hardly larger than n, with cycle walking. Pseudocode and test vectors are
/// in docs/order.md. Source: Black, Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002.
class permutation {
public:
  /// n is at most 2^63; 0 is allowed and has no values. Different keys give unrelated bijections.
  permutation(std::uint64_t n, std::uint64_t key) noexcept;

  std::uint64_t size() const noexcept { return n_; }

  /// The value that i, below size(), is mapped to.
  std::uint64_t operator()(std::uint64_t i) const noexcept;
  /// The values that two numbers below size() are mapped to: takes little longer than one of them.
  std::array<std::uint64_t, 2> operator()(std::array<std::uint64_t, 2> i) const noexcept;

private:
  /// A place in the rectangle.
  struct cell {
    std::uint64_t row;
    std::uint64_t column;
  };
  cell cell_of(std::uint64_t i) const noexcept { return {i / columns_, i % columns_}; }
  std::uint64_t number_of(const cell& x) const noexcept { return x.row * columns_ + x.column; }
  /// All rounds, for each of these.
  template <class... Cells>
  void move(Cells&... cells) const noexcept;
  /// The number of a cell that was moved, once it is one below n_: a cycle that leaves 0 .. n-1
  /// returns to it.
  std::uint64_t settle(cell x) const noexcept;

  static constexpr unsigned max_rounds = 24;

  std::uint64_t n_;
  /// Sides of the rectangle; both are below 2^32, and for n_ >= 2, n_ <= rows_ * columns_ < n_ +
  /// rows_.
  std::uint64_t rows_;
  std::uint64_t columns_;
  unsigned rounds_;
  std::array<std::uint64_t, max_rounds> round_keys_{};
};

/// Lane l's share of n: how many positions below n belong to it.
constexpr std::uint64_t share(std::uint64_t n, std::uint64_t lane, std::uint64_t lanes) noexcept {
  return n / lanes + (lane < n % lanes ? 1 : 0);
}

/// An item of an indexed pipeline.
struct epoch_item {
  std::uint64_t item = 0;
  /// The job's epoch, or under `cycle` the lane's own: the epoch whose order says what the item is.
  std::uint64_t epoch = 0;

  friend bool operator==(const epoch_item&, const epoch_item&) = default;
};

/// How the items of an epoch become batches.
struct epoch_geometry {
  /// Items per epoch; only for indexed pipelines.
  std::uint64_t items = 0;
  /// Rows of the global batch (G), at least 1.
  std::uint64_t batch_rows = 1;
  /// L, at least 1, divides G.
  std::uint64_t lanes = 1;
  /// Never automatic.
  epoch_end end = epoch_end::drop;
  /// The order is indexed: length and items of an epoch are known.
  bool is_indexed = true;

  bool is_endless() const noexcept { return end == epoch_end::cycle; }

  /// True if batches() is known.
  bool has_length() const noexcept { return is_indexed && !is_endless(); }

  /// The item at a position of an indexed pipeline's epoch.
  epoch_item item_at(std::uint64_t epoch, std::uint64_t position) const noexcept;

  /// Global batches per epoch.
  std::uint64_t batches() const noexcept;

  /// Positions of an epoch that have a row: batches() * G, or the items if the last batch is
  /// masked.
  std::uint64_t positions() const noexcept;

  /// Items of a lane, including those that an end rule leaves out.
  std::uint64_t lane_items(std::uint64_t lane) const noexcept;
};

/// Everything that determines the order of a shuffle.
struct order_config {
  shuffle_options shuffle;
  /// L, at least 1; used by windowed shuffles.
  std::uint64_t lanes = 1;
  /// Digest of the data: two data sets of the same size have unrelated orders.
  hash128 data_digest;
  /// Ordinal of the first source below the shuffle.
  std::uint64_t source = 0;
  /// Number of shuffles between this one and that source.
  std::uint64_t level = 0;
  /// Number of records in each file, in stored order.
  std::vector<std::uint64_t> records_per_file;
};

/// The order of one epoch of indexed data: a formula from positions to records, defined in
/// docs/order.md. Immutable, any thread; copies share their tables. Finding a record takes O(1)
/// with `full` and `none`, which have no table, and O(log files) with `windowed`, which sets up a
/// table of files. No cost grows with the number of records.
class epoch_order {
public:
  /// `pass` is the pass of an enclosing repeat.
  epoch_order(std::shared_ptr<const order_config> config, std::uint64_t epoch,
              std::uint64_t pass = 0);

  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t pass() const noexcept { return pass_; }
  std::uint64_t records() const noexcept { return records_; }

  /// The record at a position, which is below records(). Records are counted over all files in
  /// stored order.
  std::uint64_t record(std::uint64_t position) const noexcept;
  /// The records at two positions.
  std::array<std::uint64_t, 2> records_at(std::array<std::uint64_t, 2> positions) const noexcept;

private:
  struct file_table;

  std::uint64_t windowed_record(std::uint64_t position) const noexcept;

  std::shared_ptr<const order_config> config_;
  std::uint64_t epoch_;
  std::uint64_t pass_;
  std::uint64_t records_;
  /// A permutation of all records; used by `full`.
  permutation shuffled_;
  /// Used by `windowed`.
  std::shared_ptr<const file_table> files_;
};

} // namespace leat
