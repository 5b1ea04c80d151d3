#pragma once

#include "runtime/storage/object_pool.hpp"

#include <cstddef>
#include <memory>

namespace leat {

/// Memory for things of some kilobytes that one thread makes and others drop, one behind the other
/// in blocks: to allocate and free each of them would cost more than to fill it. A block is used
/// again when nobody has any part of it. One thread; what it gives, any.
class shared_room {
public:
  static constexpr std::size_t block_bytes = std::size_t{16} << 10;
  /// What is larger gets a block of its own, which is freed afterwards.
  static constexpr std::size_t most_bytes_shared = block_bytes / 2;

  /// Of blocks that nobody needs, at most `most_kept` are kept.
  explicit shared_room(std::size_t most_kept);
  ~shared_room();
  shared_room(const shared_room&) = delete;
  shared_room& operator=(const shared_room&) = delete;

  struct place {
    /// Aligned for all types.
    std::byte* at = nullptr;
    /// The bytes are there as long as this is.
    std::shared_ptr<void> keep = {};
  };
  /// So many undefined bytes. Throws std::bad_alloc.
  place take(std::size_t bytes);

  /// The next multiple of what is aligned for all types.
  static constexpr std::size_t aligned(std::size_t bytes) noexcept {
    constexpr std::size_t unit = alignof(std::max_align_t);
    return (bytes + unit - 1) / unit * unit;
  }

private:
  class block;

  std::shared_ptr<object_pool<block>> pool_;
  std::shared_ptr<block> current_;
};

} // namespace leat
