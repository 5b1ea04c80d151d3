#pragma once

#include <leat/decode_options.hpp>
#include <leat/pipeline.hpp>
#include <leat/resize_plan.hpp>
#include <leat/tensor.hpp>
#include <leat/transforms.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace leat {

/// Decodes the JPEG, PNG or WebP in `field` ("jpg;jpeg;png": the first that exists), applies the
/// transforms in order, and sets the field "image"; `field` is removed. As in torchvision,
/// normalize comes after everything that changes pixels, and random_erasing last. Grayscale,
/// palettes and CMYK become RGB; alpha, EXIF orientation and colour profiles are ignored. Pixels
/// are the same on every processor. Bad samples: truncated, corrupt, empty, missing_field,
/// unsupported, too_large, wrong_shape.
LEAT_API map_stage decode_image(const std::string& field,
                                const std::vector<image_transform>& transforms,
                                const decode_options& options = {});

/// The options of the two transforms that most trainers use.
struct image_options {
  /// Height and width of the result in pixels, 1 to 8192.
  std::size_t size = 224;
  /// f32, f16, bf16: (x / 255 - mean) / std for each channel; u8: 0 .. 255 as decoded.
  dtype type = dtype::f32;
  image_layout layout = image_layout::nchw;
  /// Channel order R, G, B. Defaults: those of ImageNet.
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
  std::array<float, 3> std{0.229F, 0.224F, 0.225F};
  /// Crop of train_image: share of the image's area, and aspect ratio (width / height).
  std::array<double, 2> scale{0.08, 1.0};
  std::array<double, 2> ratio{3.0 / 4.0, 4.0 / 3.0};
  /// Probability of mirroring left to right (train_image).
  double flip = 0.5;
  /// Shorter side before the central crop (eval_image); 0: size * 256 / 224.
  std::size_t resize = 0;
  /// A larger image is a bad sample (too_large).
  std::size_t max_pixels = std::size_t{1} << 27;
  /// As in decode_options.
  bool exact = false;
};

/// decode_image with random_resized_crop(size, scale, ratio), random_horizontal_flip(flip), and
/// normalize for floats.
LEAT_API map_stage train_image(const std::string& field, image_options options = {});

/// decode_image with resize(resize) and center_crop(size), in one resampling, and normalize for
/// floats.
LEAT_API map_stage eval_image(const std::string& field, image_options options = {});

/// What train_image makes of an image of this size: draws the crop, then whether it is mirrored,
/// from the same random numbers. For `image_decoder`, for what belongs to the image (boxes, masks),
/// and for decoders of a program's own. Throws `errc::invalid_argument` for options that
/// train_image refuses, and an image without pixels.
LEAT_API resize_plan train_image_plan(const image_size& image, rng& random,
                                      const image_options& options = {});

/// What eval_image makes of it. Throws as `train_image_plan` does.
LEAT_API resize_plan eval_image_plan(const image_size& image, const image_options& options = {});

/// Parses a decimal integer in ASCII from `field` and sets int64 "label"; `field` is removed.
/// Bad samples: missing_field, corrupt.
LEAT_API map_stage int_label(const std::string& field);

} // namespace leat
