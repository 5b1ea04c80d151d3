#pragma once

#include "runtime/storage/object_store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace leat {

/// Widens small ranges to the blocks in which they lie, as long as half of them lie in a block of a
/// range before: a request takes hardly longer for a block than for a record. Where they lie far
/// from each other, as in a random order, blocks would be many times the bytes, most of them for
/// nobody. Readers of lines ask for such blocks if two of three lie in known ones, so what they ask
/// for was widened here.
class block_ranges {
public:
  // The limits of record_blocks, which includes users of this.
  static constexpr std::uint64_t small_bytes = 1024;
  static constexpr std::uint64_t block_bytes = 8192;

  expected_range widened(expected_range x) {
    if (x.size > small_bytes || !pay(x))
      return x;
    const auto end = (x.offset + x.size + block_bytes - 1) / block_bytes * block_bytes;
    x.offset = x.offset / block_bytes * block_bytes;
    x.size = end - x.offset;
    return x;
  }

private:
  using place = std::pair<std::size_t, std::uint64_t>;

  bool pay(const expected_range& x) {
    if (recent_.empty())
      recent_.resize(most_recent, {~std::size_t{0}, 0});
    const place block{x.object, x.offset / block_bytes};
    auto& last = recent_[static_cast<std::size_t>((block.second + block.first * 0x9E3779B97F4A7C15U)
                                                  % most_recent)];
    points_ = std::clamp(points_ + (last == block ? 1 : -1), -most_points, most_points);
    last = block;
    return points_ >= 0;
  }

  /// As many as readers keep blocks.
  static constexpr std::size_t most_recent = 512;
  static constexpr int most_points = 32;

  std::vector<place> recent_;
  int points_ = most_points;
};

} // namespace leat
