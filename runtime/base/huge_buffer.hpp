#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

namespace leat {

/// Page-aligned memory for a batch field, allocated once and reused: from a memory resource, or
/// else from the system, on huge pages if there are any. Fresh 4 KiB pages for every
/// batch would cost more than half as much as decoding.
class huge_buffer {
public:
  huge_buffer() = default;
  enum class content : std::uint8_t { zeros, any };

  /// Throws std::bad_alloc, and what the resource throws.
  explicit huge_buffer(std::size_t bytes, std::shared_ptr<std::pmr::memory_resource> from = {},
                       content at_first = content::zeros);
  huge_buffer(huge_buffer&& other) noexcept;
  huge_buffer& operator=(huge_buffer&& other) noexcept;
  ~huge_buffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  /// Null if the pages come from the system.
  std::shared_ptr<std::pmr::memory_resource> from_;
};

} // namespace leat
