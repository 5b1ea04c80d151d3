#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leat {

/// An image in memory: uint8 [height, width, 3], R, G, B, row-major, owned.
struct rgb_image {
  rgb_image() = default;
  rgb_image(std::size_t width, std::size_t height, std::uint8_t fill = 0)
      : width(width), height(height), pixels(width * height * 3, fill) {}

  std::uint8_t* row(std::size_t y) noexcept { return pixels.data() + y * width * 3; }
  const std::uint8_t* row(std::size_t y) const noexcept { return pixels.data() + y * width * 3; }

  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Lays tiles out row by row, `columns` (at least 1) in a row and `gap` pixels around each, on
/// white or another grey. Cells have the size of the widest and the highest tile; smaller tiles
/// stand in the middle.
rgb_image contact_sheet(std::span<const rgb_image> tiles, std::size_t columns, std::size_t gap,
                        std::uint8_t background = 255);

} // namespace leat
