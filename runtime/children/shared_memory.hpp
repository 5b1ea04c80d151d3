#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/value_bytes.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace leat {

/// Memory of a file that two processes map. One of them enlarges it, and sends the other its size.
class shared_memory final : public byte_room, not_copied {
public:
  /// A new one, without bytes, that nobody can make smaller. Throws `errc::no_resources`.
  static file_descriptor make_file(const char* name);

  explicit shared_memory(file_descriptor file) noexcept : file_(std::move(file)) {}
  ~shared_memory();

  int file() const noexcept { return file_.get(); }
  /// Makes the file at least this large; its bytes may move. Throws `errc::no_resources`.
  std::span<std::byte> reserve(std::size_t size) override;
  /// Maps it anew if the other process has enlarged it. Throws `errc::no_resources`, and
  /// `torn_value` if it has not.
  void follow(std::size_t size);
  std::span<std::byte> bytes() const noexcept { return {at_, size_}; }

private:
  void map(std::size_t size);
  void unmap() noexcept;

  file_descriptor file_;
  std::byte* at_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace leat
