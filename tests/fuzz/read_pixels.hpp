#pragma once

#include "runtime/image/pixels/rgb_view.hpp"

#include <cstddef>

/// Reads each pixel, so that the sanitizer sees what was not written.
inline void read_pixels(const leat::rgb_view& view) {
  static volatile unsigned sink = 0;
  for (std::size_t y = 0; y < view.height; ++y)
    for (std::size_t x = 0; x < 3 * view.width; ++x)
      sink = sink + view.row(y)[x];
}
