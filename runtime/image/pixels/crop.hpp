#pragma once

#include "runtime/image/pixels/pad_image.hpp"

#include <leat/resize_plan.hpp>
#include <leat/rng.hpp>

#include <array>
#include <cstddef>

namespace leat {

/// What a random crop may be: its share of the image's area, and width / height.
/// Both are [lowest, highest], above zero.
struct crop_ranges {
  std::array<double, 2> scale;
  std::array<double, 2> ratio;
};

/// A random rectangle within the image, which has at least one pixel.
/// Source: torchvision's RandomResizedCrop.get_params: ten tries, then a central crop.
/// Draws area and ratio for each try, then top and left for the one that fits. Uses the C library's
/// log and exp: a last bit that differs there moves a crop only where a size lies exactly between
/// two pixels.
pixel_rect random_crop(const image_size& image, const crop_ranges& ranges, rng& random);

/// The size whose shorter side is `shorter`. Source: torchvision's Resize; the longer side is
/// rounded down.
image_size resized_to_shorter(const image_size& image, std::size_t shorter);

/// The middle of an image that is at least as large. Source: torchvision's CenterCrop; halves are
/// rounded to even.
pixel_rect central_part(const image_size& image, const image_size& size);

/// The black border around an image that makes it at least as large as `size`. Source:
/// torchvision's CenterCrop; an odd row goes below, an odd column to the right.
padding padding_to(const image_size& image, const image_size& size);

} // namespace leat
