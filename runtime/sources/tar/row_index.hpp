#pragma once

#include "runtime/sources/folder/folder_files.hpp"

#include <leat/sources.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// What the indexes of some data know of its JPEGs.
struct row_index_facts {
  /// Bytes of data that were read for the indexes; 0: all of them existed.
  std::uint64_t bytes_read = 0;
  std::uint64_t images = 0;
  /// JPEGs whose MCU rows can be found: plain files whose whole scan is clean.
  std::uint64_t indexed = 0;
  /// Bytes of the images, and of what is kept about their rows.
  std::uint64_t image_bytes = 0;
  std::uint64_t index_bytes = 0;
  /// Shards or classes whose index cannot be stored: neither in their directory nor in the cache.
  std::uint64_t not_stored = 0;
};

/// Bytes of data done, and in all. Called by one thread at a time.
using row_index_progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Finds where the MCU rows of the shards' JPEGs begin, and keeps that in the shards' index files.
/// Reads the JPEGs once, in as many shards at a time as there are cores. Indexes that are complete
/// stay as they are, and so do the shards. If a shard fails, the others are still done; then throws
/// the error of the first: what opening it throws, and `errc::io` if it was replaced meanwhile.
row_index_facts build_row_index(const std::vector<std::string>& shards, const tar_options& options,
                                const row_index_progress& progress);

/// Builds the row index of a folder's images, by classes in place of shards. Throws
/// `errc::torn_file` if an image has another size than when the folder was listed, and `errc::io`.
row_index_facts build_row_index(const std::shared_ptr<const folder_files>& files,
                                const folder_options& options, const row_index_progress& progress);

} // namespace leat
