#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/packed_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

namespace leat {

/// Compressed streams between two reads. With hundreds of lanes there are hundreds of them, each
/// with an unpacker of 40 KiB (gzip) or up to 128 MiB (zstd, a few at its usual levels): those that
/// have waited longest are dropped when all together exceed a limit. A caller whose stream was
/// dropped opens it again at the last place where decompression can begin, and decompresses what
/// lies between: up to a whole member or frame. Any thread.
class stream_pool {
public:
  /// 24,000 lanes of gzip, or 400 of zstd at level 3.
  static constexpr std::size_t default_limit_bytes = std::size_t{1} << 30;

  explicit stream_pool(std::size_t limit_bytes = default_limit_bytes) : limit_(limit_bytes) {}

  /// Returns a different one at each call, from 2^32 up: smaller ones are free for other uses.
  std::uint64_t new_id();
  /// The stream that was parked last under an id; null if it was dropped.
  std::unique_ptr<packed_stream> take(std::uint64_t id);
  /// Replaces another stream of that id.
  void park(std::uint64_t id, std::unique_ptr<packed_stream> stream);
  void drop(std::uint64_t id);

  /// Bytes that parked streams hold: within the limit, unless a single stream holds more.
  std::size_t memory() const;

private:
  struct parked {
    std::uint64_t id;
    std::size_t bytes;
    std::unique_ptr<packed_stream> stream;
  };

  std::unique_ptr<packed_stream> remove(std::uint64_t id) LEAT_REQUIRES(mutex_);

  const std::size_t limit_;
  mutable mutex mutex_;
  /// The longest parked is first.
  std::list<parked> streams_ LEAT_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, std::list<parked>::iterator> by_id_ LEAT_GUARDED_BY(mutex_);
  std::size_t bytes_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_id_ LEAT_GUARDED_BY(mutex_) = (std::uint64_t{1} << 32) - 1;
};

} // namespace leat
