#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

/// What `put_indexes` has stored.
struct put_index_facts {
  /// The full name of the manifest.
  std::string manifest;
  std::uint64_t shards = 0;
  std::uint64_t records = 0;
  /// Of the manifest, and of the index objects.
  std::uint64_t manifest_bytes = 0;
  std::uint64_t index_bytes = 0;

  friend bool operator==(const put_index_facts&, const put_index_facts&) = default;
};

/// Stores the indexes of tar shards where jobs on other machines find them. `out` is a folder: a
/// path, "s3://BUCKET/FOLDER" or "gs://BUCKET/FOLDER". It gets an index object per shard, beside
/// the shard if that lies in this folder ("0.tar.leat-index"), and then a manifest of all of them,
/// "data.leat-manifest"; or `out` is the name of a manifest, "*.leat-manifest", and nothing else is
/// stored. Jobs name the folder or the manifest as `index_dir`; what lies beside shards, they find
/// without that. Indexes that do not exist are made, each by reading its shard once; requests are
/// made as those of the pipeline's source.
///
/// Throws `errc::invalid_argument` if the pipeline's source is not tar shards, or not the only one;
/// if nothing can be stored at `out`; and if that is on a server, but the shards are not: an index
/// belongs to the file that it was made of, and a copy of it in a bucket is another one. Throws
/// what opening the shards and storing throws; what was stored before that stays, and the manifest
/// comes last.
LEAT_API put_index_facts put_indexes(const pipeline& data, const std::string& out);
/// Throws as `put_indexes` for what it would refuse before it reads any data.
LEAT_API void check_put_indexes(const pipeline& data, const std::string& out);

} // namespace leat
