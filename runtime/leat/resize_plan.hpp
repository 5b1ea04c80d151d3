#pragma once

#include <cstddef>

namespace leat {

/// Extents of an image in pixels.
struct image_size {
  std::size_t width = 0;
  std::size_t height = 0;

  friend bool operator==(const image_size&, const image_size&) = default;
};

/// A rectangle of pixels: columns x .. x+width-1, rows y .. y+height-1, counted from the top left.
struct pixel_rect {
  std::size_t x = 0;
  std::size_t y = 0;
  std::size_t width = 0;
  std::size_t height = 0;

  friend bool operator==(const pixel_rect&, const pixel_rect&) = default;
};

/// What becomes of an image: `source` (a part of it) is resized to `resized`, of which `window` is
/// wanted, mirrored left to right or not.
struct resize_plan {
  pixel_rect source;
  image_size resized;
  pixel_rect window;
  bool mirrored = false;

  friend bool operator==(const resize_plan&, const resize_plan&) = default;
};

} // namespace leat
