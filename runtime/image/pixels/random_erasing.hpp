#pragma once

#include <leat/resize_plan.hpp>
#include <leat/rng.hpp>

#include <array>
#include <optional>

namespace leat {

/// What is erased: with which probability (0 to 1), which share of the image's area (0 to 1), and
/// in which ratio of height / width (above 0). The last two are [lowest, highest].
struct erasing_ranges {
  double probability;
  std::array<double, 2> scale;
  std::array<double, 2> ratio;
};

/// The rectangle to erase, at least one pixel, and less than the image's width and height. Nothing
/// where none is erased: by chance, after ten tries that do not fit, or when one rounds to no
/// pixel. Source: make_params of torchvision's v2 RandomErasing, version 0.28. Draws whether to
/// erase; then area and ratio for each try; then top and left for the one that fits. Uses the C
/// library's log and exp, as `random_crop` does.
std::optional<pixel_rect> draw_erased(const image_size& image, const erasing_ranges& ranges,
                                      rng& random);

} // namespace leat
