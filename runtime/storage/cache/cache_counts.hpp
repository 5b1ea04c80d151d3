#pragma once

#include <atomic>
#include <cstdint>

namespace leat {

/// What caches have done so far. Any thread may read.
struct cache_counts {
  /// Reads, or parts of them, that were in the directory, and their bytes.
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> bytes_found{0};
  /// Blocks that were fetched whole, and those of them that were stored.
  std::atomic<std::uint64_t> blocks_fetched{0};
  std::atomic<std::uint64_t> blocks_stored{0};
  /// Bytes that were fetched as they were wanted, as the directory has no room for their blocks.
  std::atomic<std::uint64_t> bytes_passed_by{0};
  /// Files that were not what they had to be.
  std::atomic<std::uint64_t> damaged{0};
  /// Blocks that another process was fetching: those that came, and those that took too long.
  std::atomic<std::uint64_t> waits{0};
  std::atomic<std::uint64_t> waits_in_vain{0};
};

} // namespace leat
