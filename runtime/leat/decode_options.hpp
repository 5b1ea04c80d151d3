#pragma once

#include <cstddef>

namespace leat {

/// How a file becomes pixels.
struct decode_options {
  /// Full decode, smooth upsampling and resize in double precision, rounded once: slower, and 0.2
  /// of 255 different on average from the usual way (docs/performance.md).
  bool exact = false;
  /// A larger image is a bad sample (too_large).
  std::size_t max_pixels = std::size_t{1} << 27;
};

} // namespace leat
