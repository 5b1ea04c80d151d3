#pragma once

#include "runtime/sample/ragged_row.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace leat {

/// The rows of one ragged field of one batch, which several threads make at the same time, each row
/// by one of them.
///
/// The rows that one thread makes one after the other, from the first on, are written directly
/// after each other: often that is the whole batch, and then nothing has to be copied. All others
/// are written on their own, since nobody knows how long those before them will be; so is a row
/// that is made once more.
class ragged_rows {
public:
  explicit ragged_rows(std::size_t rows) : extents_(rows), apart_(rows) {}

  /// The rows of another batch.
  void begin() noexcept { joined_ = 0; }
  /// Where a row goes. `follows`: it is the first one, or the same thread made the one before it
  /// just now, and that one followed, too. Where rows of another thread follow the first one
  /// already, it is on its own after all.
  ragged_row target(std::size_t row, bool follows) noexcept;
  /// The row has no bytes.
  void clear(std::size_t row) noexcept;
  /// What a row has that was made. For the thread that made it.
  std::span<const std::byte> row(std::size_t i) const noexcept;

  // Once all rows are made:
  std::size_t size_of(std::size_t row) const noexcept {
    return is_joined(row) ? extents_[row].end - extents_[row].begin : apart_[row].size();
  }
  std::size_t bytes() const noexcept;
  /// The bytes of all rows, valid until the rows change. To be called once for each batch.
  std::span<const std::byte> join();

private:
  struct extent {
    std::size_t begin = 0;
    std::size_t end = 0;
    /// The row is on its own.
    bool is_apart = false;
  };

  bool is_joined(std::size_t row) const noexcept {
    return row < joined_ && !extents_[row].is_apart;
  }
  void separate_after_first_apart();

  /// The first `joined_` rows, one after the other.
  ragged_buffer joined_bytes_;
  std::vector<extent> extents_;
  std::size_t joined_ = 0;
  std::vector<ragged_buffer> apart_;
};

} // namespace leat
