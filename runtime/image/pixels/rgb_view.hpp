#pragma once

#include <cstddef>
#include <cstdint>

namespace leat {

/// Borrowed pixels, uint8 R, G, B. Row y begins at `data + y * stride` bytes. At least `rgb_slack`
/// bytes after the last pixel can be read, so that wide loads may overrun it.
struct rgb_view {
  const std::uint8_t* data = nullptr;
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t stride = 0;

  const std::uint8_t* row(std::size_t y) const noexcept { return data + y * stride; }
};

inline constexpr std::size_t rgb_slack = 32;

} // namespace leat
