#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace leat {

/// Bytes of one row after another. What it grows by is not defined: a vector would set it to zero.
class ragged_buffer {
public:
  std::size_t size() const noexcept { return size_; }
  std::byte* data() noexcept { return bytes_.get(); }
  const std::byte* data() const noexcept { return bytes_.get(); }

  /// Keeps the first bytes. Throws std::bad_alloc, and then is as before.
  void resize(std::size_t size) {
    if (size > capacity_)
      grow(std::max(size, capacity_ + capacity_ / 2));
    size_ = size;
  }

private:
  void grow(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    std::copy_n(bytes_.get(), size_, larger.get());
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Where one row of a ragged field goes: to the end of a buffer, which may have rows before it.
struct ragged_row {
  ragged_buffer* in = nullptr;
  /// Where the row begins in the buffer.
  std::size_t begin = 0;
  /// Set to where the row ends, once it is complete; may be null.
  std::size_t* end = nullptr;

  std::span<std::byte> bytes() const noexcept { return {in->data() + begin, in->size() - begin}; }
  /// The row's first byte. Throws std::bad_alloc.
  std::byte* resize(std::size_t size) const {
    in->resize(begin + size);
    return in->data() + begin;
  }
  /// `x` must not lie in the buffer.
  void assign(std::span<const std::byte> x) const {
    auto* to = resize(x.size());
    if (!x.empty())
      std::memcpy(to, x.data(), x.size());
  }
  void complete() const noexcept {
    if (end)
      *end = in->size();
  }
};

} // namespace leat
