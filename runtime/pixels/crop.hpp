#pragma once

#include "runtime/pixels/pixel_rect.hpp"

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

/// An image resized to `resized`, of which only `window` is wanted.
struct central_crop {
  image_size resized;
  pixel_rect window;
};

/// The shorter side becomes `resize` pixels and the middle size x size are kept; `size` is at most
/// `resize`. Source: torchvision's Resize (the longer side is rounded down) and CenterCrop (halves
/// are rounded to even).
central_crop resize_and_crop(const image_size& image, std::size_t resize, std::size_t size);

} // namespace leat
