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
  struct tile_counts {
    std::size_t axis = 0;
    std::size_t block = 0;
    std::size_t row = 0;
    std::size_t pixel = 0;
    std::size_t gray = 0;
    std::size_t colour = 0;

    tile_counts& operator+=(const tile_counts& x) noexcept;
  };
  tile_counts tiles;
  // Of what kernels make.
  std::size_t words = 0;
  std::size_t spans = 0;
  std::size_t weights = 0;
  std::size_t blocks = 0;
  std::size_t samples = 0;
  std::size_t narrowed = 0;
  std::size_t floats = 0;

  group_room& operator+=(const group_room& x) noexcept;
  friend group_room operator+(group_room a, const group_room& b) noexcept { return a += b; }

  /// Where arrays begin, in the order of `device_group`; the last place is the end.
  struct copied_places {
    std::size_t images, stretches, axis_tiles, block_tiles, row_tiles, pixel_tiles, gray_tiles,
        colour_tiles, end;
  };
  struct made_places {
    /// 0.
    std::size_t samples;
    std::size_t told, grays, tables, bits, words, spans, weights, floats;
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
