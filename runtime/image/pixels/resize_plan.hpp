#pragma once

#include "runtime/image/pixels/pixel_rect.hpp"

namespace leat {

/// What becomes of an image: `source` (a part of it) is resized to `resized`, of which `window` is
/// wanted, mirrored left to right or not.
struct resize_plan {
  pixel_rect source;
  image_size resized;
  pixel_rect window;
  bool mirrored = false;
};

} // namespace leat
