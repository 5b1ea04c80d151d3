#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// Bytes of a scan as the entropy coder wrote them: without the zero that follows each 0xFF, up to
/// the next marker. They are followed by `padding` zero bytes, so that a reader may overrun. Keeps
/// its buffer.
class scan_bytes {
public:
  /// Bytes that a reader may look at after the end.
  static constexpr std::size_t padding = 4096;

  /// Takes bytes of a file, which begin between two coded bytes. Returns how many were taken: up to
  /// a marker, or all. With `stuffed`, notes which bytes of the result a zero followed.
  std::size_t assign(std::span<const std::byte> coded, std::vector<std::size_t>* stuffed = nullptr);

  const std::uint8_t* data() const noexcept { return bytes_.data(); }
  std::size_t size() const noexcept { return size_; }

private:
  std::vector<std::uint8_t> bytes_;
  std::size_t size_ = 0;
};

} // namespace leat
