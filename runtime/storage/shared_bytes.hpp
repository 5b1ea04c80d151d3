#pragma once

#include "runtime/storage/object_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace leat {

/// Consecutive bytes of a file, shared by all who need some of them. One thread writes them before
/// others read.
class shared_bytes {
public:
  /// So many bytes after the last one may be read; their values mean nothing.
  static constexpr std::size_t slack = 64;

  /// Offset of the first byte in the decompressed file.
  std::uint64_t begin = 0;

  std::size_t size() const noexcept { return size_; }
  std::span<const std::byte> all() const noexcept { return {bytes_.get(), size_}; }
  /// Undefined bytes after the last one, to be filled; valid until the next call. Throws
  /// std::bad_alloc.
  std::span<std::byte> room(std::size_t bytes);
  /// Makes the first `bytes` of that room part of the content.
  void add(std::size_t bytes) noexcept { size_ += bytes; }
  /// Removes bytes at the beginning; does not change `begin`.
  void remove_front(std::size_t bytes) noexcept;
  /// See object_pool.
  bool renew() noexcept {
    size_ = 0;
    return capacity_ <= most_bytes_kept;
  }

private:
  /// A buffer that grew for a large record is freed after its use.
  static constexpr std::size_t most_bytes_kept = std::size_t{256} << 10;

  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

/// Recycles buffers for the next blocks of the same stream: new memory costs as much as reading the
/// bytes into it.
using shared_bytes_pool = object_pool<shared_bytes>;

} // namespace leat
