#include "tools/made_data/rgb_image.hpp"

#include <algorithm>

namespace leat {

namespace {

void paste(const rgb_image& tile, rgb_image& sheet, std::size_t left, std::size_t top) {
  for (std::size_t y = 0; y < tile.height; ++y)
    std::copy_n(tile.row(y), tile.width * 3, sheet.row(top + y) + left * 3);
}

} // namespace

rgb_image contact_sheet(std::span<const rgb_image> tiles, std::size_t columns, std::size_t gap,
                        std::uint8_t background) {
  std::size_t width = 0;
  std::size_t height = 0;
  for (const auto& tile : tiles) {
    width = std::max(width, tile.width);
    height = std::max(height, tile.height);
  }
  const std::size_t rows = (tiles.size() + columns - 1) / columns;
  rgb_image sheet(columns * (width + gap) + gap, rows * (height + gap) + gap, background);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::size_t left = gap + i % columns * (width + gap) + (width - tiles[i].width) / 2;
    const std::size_t top = gap + i / columns * (height + gap) + (height - tiles[i].height) / 2;
    paste(tiles[i], sheet, left, top);
  }
  return sheet;
}

} // namespace leat
