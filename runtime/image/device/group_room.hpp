#pragma once

#include "runtime/image/device/device_image.hpp"

#include <cstddef>
#include <span>

namespace leat {

/// What images of a group take, in elements.
struct group_room {
  // Of what is copied.
  std::size_t bytes = 0;
  std::size_t images = 0;
  std::size_t stretches = 0;
  std::size_t axis_tiles = 0;
  std::size_t block_tiles = 0;
  std::size_t row_tiles = 0;
  std::size_t pixel_tiles = 0;
  // Of what kernels make.
  std::size_t words = 0;
  std::size_t spans = 0;
  std::size_t weights = 0;
  std::size_t blocks = 0;
  std::size_t samples = 0;
  std::size_t narrowed = 0;

  group_room& operator+=(const group_room& x) noexcept;
  friend group_room operator+(group_room a, const group_room& b) noexcept { return a += b; }

  /// Where arrays begin, in the order of `device_group`; the last place is the end.
  struct copied_places {
    std::size_t images, stretches, axis_tiles, block_tiles, row_tiles, pixel_tiles, end;
  };
  struct made_places {
    /// 0.
    std::size_t samples;
    std::size_t told, tables, bits, words, spans, weights;
    /// Coefficients, and, once they are transformed, narrowed rows.
    std::size_t coefficients;
    std::size_t end;
  };
  copied_places copied() const noexcept;
  made_places made() const noexcept;
};

/// Each array of a group begins at a multiple of so many bytes.
inline constexpr std::size_t group_alignment = 64;

} // namespace leat
