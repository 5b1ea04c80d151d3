#pragma once

#include <leat/pipeline.hpp>
#include <leat/tensor.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace leat {

enum class image_layout : std::uint8_t { nchw, nhwc };

/// How a decoded image becomes the field "image".
struct image_options {
  /// Height and width of the result in pixels, 1 to 4096.
  std::size_t size = 224;
  /// dtype::f32: (x / 255 - mean) / deviation a channel; dtype::u8: 0 .. 255 as decoded.
  dtype type = dtype::f32;
  image_layout layout = image_layout::nchw;
  /// Channel order R, G, B. Defaults: those of ImageNet.
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
  std::array<float, 3> deviation{0.229F, 0.224F, 0.225F};
  /// Crop of train_image: share of the image's area, and aspect ratio (width / height).
  std::array<double, 2> scale{0.08, 1.0};
  std::array<double, 2> ratio{3.0 / 4.0, 4.0 / 3.0};
  /// Probability of mirroring left to right (train_image).
  double flip = 0.5;
  /// Shorter side before the central crop (eval_image); 0: size * 256 / 224.
  std::size_t resize = 0;
  /// A larger image is a bad sample (too_large).
  std::size_t max_pixels = std::size_t{1} << 27;
};

/// Decodes the JPEG in `field` ("jpg;jpeg": the first that exists), takes a random crop, resizes it
/// to size x size, mirrors it at random, and sets field "image"; `field` is removed.
/// Same meaning as torchvision's RandomResizedCrop(size, scale, ratio) and RandomHorizontalFlip,
/// antialiased bilinear, pixels as Pillow 12's; random numbers are leat's own.
/// Grayscale and CMYK become RGB. Bad samples: truncated, corrupt, empty, missing_field,
/// unsupported, too_large.
LEAT_API map_stage train_image(std::string field, image_options options = {});

/// The same without chance: torchvision's Resize(resize) and CenterCrop(size), with its rounding.
LEAT_API map_stage eval_image(std::string field, image_options options = {});

/// Parses a decimal integer in ASCII from `field` and sets int64 "label"; `field` is removed.
/// Bad samples: missing_field, corrupt.
LEAT_API map_stage int_label(const std::string& field);

} // namespace leat
