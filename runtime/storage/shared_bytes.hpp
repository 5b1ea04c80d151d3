#pragma once

#include "runtime/storage/object_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace leat {

/// Consecutive bytes of a file, for all who need some of them. One thread writes, before others
/// read.
class shared_bytes {
public:
  /// So many bytes behind the last one may be read, whatever they are.
  static constexpr std::size_t slack = 64;

  /// Offset of the first one in the file, decompressed.
  std::uint64_t begin = 0;

  std::size_t size() const noexcept { return size_; }
  std::span<const std::byte> all() const noexcept { return {bytes_.get(), size_}; }
  /// Undefined bytes behind the last one, until the next call. Throws std::bad_alloc.
  std::span<std::byte> room(std::size_t bytes);
  /// The first of them now belong to it.
  void add(std::size_t bytes) noexcept { size_ += bytes; }
  /// Removes bytes at the beginning; `begin` is as before.
  void remove_front(std::size_t bytes) noexcept;
  /// Empties it for another use.
  bool renew() noexcept {
    size_ = 0;
    return capacity_ <= most_bytes_kept;
  }

private:
  /// What holds a large record is freed after its use.
  static constexpr std::size_t most_bytes_kept = std::size_t{256} << 10;

  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

/// Buffers that nobody needs any more, for the next blocks of the same stream: new memory costs as
/// much as the bytes that are read into it.
using shared_bytes_pool = object_pool<shared_bytes>;

} // namespace leat
