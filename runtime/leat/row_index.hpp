#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace leat {

/// What the indexes of some data know of its JPEGs.
struct row_index_facts {
  /// Bytes of data that were read for the indexes; 0: all of them existed.
  std::uint64_t bytes_read = 0;
  /// JPEGs, whether there was an index before or not.
  std::uint64_t images = 0;
  /// JPEGs whose MCU rows can be found: plain files whose whole scan is clean.
  std::uint64_t indexed = 0;
  /// Bytes of the images, of what is kept about their rows, and of their places by work, from which
  /// a GPU decodes them.
  std::uint64_t image_bytes = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t work_bytes = 0;
  /// Shards or classes that had a row index without places by work, to which these were added.
  std::uint64_t completed = 0;
  /// Shards or classes whose index cannot be stored: neither in their directory nor in the cache.
  std::uint64_t not_stored = 0;

  row_index_facts& operator+=(const row_index_facts& x) noexcept {
    bytes_read += x.bytes_read;
    images += x.images;
    indexed += x.indexed;
    image_bytes += x.image_bytes;
    index_bytes += x.index_bytes;
    work_bytes += x.work_bytes;
    completed += x.completed;
    not_stored += x.not_stored;
    return *this;
  }
  friend bool operator==(const row_index_facts&, const row_index_facts&) = default;
};

/// Bytes of data done, and in all; begins again with each source. Called by one thread at a time.
using row_index_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Finds where the MCU rows of JPEGs begin, and their places by work, in every source of the
/// pipeline that can keep that: tar shards and folders of images, with the options that they have
/// there. From then on jobs decode only what a crop needs, with the same pixels
/// (docs/performance.md). Reads the JPEGs once, in as
/// many shards or classes at a time as there are cores; the data stay as they are, and so do
/// indexes that are complete. Empty if no source can keep a row index.
///
/// If a shard or class fails, the others are still done; then throws the error of the first: what
/// opening it throws, and `errc::io` or `errc::torn_file` if it changed meanwhile.
LEAT_API std::optional<row_index_facts> build_row_index(const pipeline& data,
                                                        const row_index_progress& progress = {});

} // namespace leat
