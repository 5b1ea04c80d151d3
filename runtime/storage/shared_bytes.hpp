#pragma once

#include "runtime/base/mutex.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
  void clear() noexcept { size_ = 0; }

private:
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> bytes_;
};

/// Gives buffers out, and takes them back when nobody has them any more: new memory costs as much
/// as the bytes that are read into it. Any thread.
class shared_bytes_pool : public std::enable_shared_from_this<shared_bytes_pool> {
public:
  /// An empty one, which may outlive the pool. Throws std::bad_alloc.
  std::shared_ptr<shared_bytes> get();

private:
  /// More than that are given back to the system.
  static constexpr std::size_t most_kept = 4;

  void take_back(std::unique_ptr<shared_bytes> x) noexcept;

  mutex mutex_;
  std::vector<std::unique_ptr<shared_bytes>> kept_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
