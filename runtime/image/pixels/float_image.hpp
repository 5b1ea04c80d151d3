#pragma once

#include <cstddef>

namespace leat {

/// Borrowed pixels: three planes R, G, B of floats from 0 to 1, one after the other, each row by
/// row.
struct float_image {
  float* data = nullptr;
  std::size_t width = 0;
  std::size_t height = 0;

  std::size_t pixels() const noexcept { return width * height; }
  float* plane(std::size_t c) const noexcept { return data + c * pixels(); }
};

} // namespace leat
