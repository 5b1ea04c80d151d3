#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace leat::python {

/// Owns a file descriptor.
class descriptor {
public:
  explicit descriptor(int number = -1) noexcept : number_(number) {}
  ~descriptor();
  descriptor(descriptor&& x) noexcept;
  descriptor& operator=(descriptor&& x) noexcept;

  int get() const noexcept { return number_; }

private:
  int number_;
};

/// Memory of a file that two processes map. One of them enlarges it, and sends the other its size.
class shared_memory : not_copied {
public:
  explicit shared_memory(descriptor file) noexcept : file_(std::move(file)) {}
  ~shared_memory();

  /// Makes the file at least this large; its bytes may move. Throws `errc::no_resources`.
  void reserve(std::size_t size);
  /// Maps it anew if the other process has enlarged it. Throws `errc::no_resources`.
  void follow(std::size_t size);
  std::span<std::byte> bytes() const noexcept { return {at_, size_}; }

private:
  void map(std::size_t size);
  void unmap() noexcept;

  descriptor file_;
  std::byte* at_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace leat::python
