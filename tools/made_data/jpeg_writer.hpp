#pragma once

#include "tools/made_data/rgb_image.hpp"

#include <cstdint>
#include <vector>

namespace leat {

enum class jpeg_kind : std::uint8_t {
  /// Colour at half resolution in both directions (4:2:0), as cameras write it.
  half_colour,
  /// Colour at full resolution (4:4:4).
  full_colour,
  grayscale,
};

/// Encodes a baseline JPEG with the integer transform: the same bytes on every processor.
/// `quality`: 1 to 100, libjpeg's scale.
/// Throws `leat::error` (invalid_argument) with libjpeg's text, e.g. for sides over 65,500 pixels.
std::vector<std::uint8_t> encode_jpeg(const rgb_image& image, int quality, jpeg_kind kind);

} // namespace leat
