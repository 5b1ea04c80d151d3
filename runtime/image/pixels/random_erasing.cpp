#include "runtime/image/pixels/random_erasing.hpp"

#include <cmath>

namespace leat {

namespace {

/// Whole numbers, but not yet known to be small enough for integers.
struct drawn_size {
  double width;
  double height;
};

drawn_size draw_size(const image_size& image, const erasing_ranges& ranges, rng& random) {
  const auto area = static_cast<double>(image.width) * static_cast<double>(image.height);
  const double erased = area * random.uniform(ranges.scale[0], ranges.scale[1]);
  const double aspect =
      std::exp(random.uniform(std::log(ranges.ratio[0]), std::log(ranges.ratio[1])));
  // Halves to even, as Python's round does.
  return {std::nearbyint(std::sqrt(erased / aspect)), std::nearbyint(std::sqrt(erased * aspect))};
}

} // namespace

std::optional<pixel_rect> draw_erased(const image_size& image, const erasing_ranges& ranges,
                                      rng& random) {
  if (!random.coin(ranges.probability))
    return std::nullopt;
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i) {
    const auto drawn = draw_size(image, ranges, random);
    if (drawn.width >= static_cast<double>(image.width)
        || drawn.height >= static_cast<double>(image.height))
      continue;
    const image_size size{static_cast<std::size_t>(drawn.width),
                          static_cast<std::size_t>(drawn.height)};
    if (size.width == 0 || size.height == 0)
      return std::nullopt;
    pixel_rect erased{.width = size.width, .height = size.height};
    erased.y = random.below(image.height - size.height + 1);
    erased.x = random.below(image.width - size.width + 1);
    return erased;
  }
  return std::nullopt;
}

} // namespace leat
