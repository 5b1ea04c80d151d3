#pragma once

#include "runtime/image/pixels/float_image.hpp"

#include <leat/resize_plan.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace leat {

/// What stands in the rows and columns that are put around an image `abc`.
enum class pad_mode : std::uint8_t {
  /// `fill`.
  constant,
  /// The nearest pixel: aa|abc|cc.
  edge,
  /// Mirrored at the outermost pixel: cb|abc|ba.
  reflect,
  /// Mirrored beyond the outermost pixel: ba|abc|cb.
  symmetric,
};

/// Rows and columns to put around an image, in pixels.
/// Source: torchvision's v2 Pad for float images, version 0.28.
struct padding {
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t right = 0;
  std::size_t bottom = 0;
  pad_mode mode = pad_mode::constant;
  /// R, G, B, for `pad_mode::constant`.
  std::array<float, 3> fill{};
};

image_size padded_size(const image_size& image, const padding& pad);

/// Whether the image has the pixels that a mirror shows: each side of `reflect` must be smaller
/// than the image is there, and each of `symmetric` no larger.
bool can_pad(const image_size& image, const padding& pad);

/// Writes all of `out`, which has the padded size and shares no memory with `in`. `in` has at least
/// one pixel, and `can_pad`.
void pad_image(const float_image& in, const padding& pad, const float_image& out);

} // namespace leat
