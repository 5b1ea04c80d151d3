#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace leat {

/// Zeroed memory for a batch field, made once and reused: page-aligned, from a resource, or else on
/// huge pages if the system has them. Fresh 4 KiB pages for every batch would cost more than half
/// of a decode.
class huge_buffer {
public:
  huge_buffer() = default;
  /// Throws std::bad_alloc, and what the resource throws.
  explicit huge_buffer(std::size_t bytes, std::shared_ptr<std::pmr::memory_resource> from = {});
  huge_buffer(huge_buffer&& other) noexcept;
  huge_buffer& operator=(huge_buffer&& other) noexcept;
  ~huge_buffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  /// Null for pages of the system.
  std::shared_ptr<std::pmr::memory_resource> from_;
};

} // namespace leat
