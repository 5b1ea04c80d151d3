#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/object_pool.hpp"

#include <cstddef>
#include <memory>

namespace leat {

/// Memory for objects of up to some kilobytes that one thread creates and others drop. They are
/// placed one after the other in blocks, since allocating and freeing each would cost more than
/// filling it. A block is reused once nobody holds any part of it. One thread may take; any thread
/// may use and drop what was taken.
class shared_room : not_copied {
public:
  static constexpr std::size_t block_bytes = std::size_t{16} << 10;
  /// Anything larger gets memory of its own, which is freed afterwards.
  static constexpr std::size_t most_bytes_shared = block_bytes / 2;

  /// Keeps at most `most_kept` unused blocks.
  explicit shared_room(std::size_t most_kept);
  ~shared_room();

  struct place {
    /// Aligned for all types.
    std::byte* at = nullptr;
    /// The bytes live as long as this.
    std::shared_ptr<void> keep = {};
  };
  /// Returns so many undefined bytes. Throws std::bad_alloc.
  place take(std::size_t bytes);

  /// Rounds up to the largest alignment of any type.
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
