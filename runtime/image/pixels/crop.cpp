#include "runtime/image/pixels/crop.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace leat {

namespace {

/// Rounds halves to even, as Python's round does.
double round_even(double x) {
  return std::nearbyint(x);
}

bool within(double extent, std::size_t limit) {
  return extent >= 1 && extent <= static_cast<double>(limit);
}

std::optional<pixel_rect> try_crop(const image_size& image, const crop_ranges& ranges,
                                   rng& random) {
  const auto area = static_cast<double>(image.width) * static_cast<double>(image.height);
  const double target = area * random.uniform(ranges.scale[0], ranges.scale[1]);
  const double aspect =
      std::exp(random.uniform(std::log(ranges.ratio[0]), std::log(ranges.ratio[1])));
  const double width = round_even(std::sqrt(target * aspect));
  const double height = round_even(std::sqrt(target / aspect));
  if (!within(width, image.width) || !within(height, image.height))
    return std::nullopt;
  pixel_rect crop{.width = static_cast<std::size_t>(width),
                  .height = static_cast<std::size_t>(height)};
  crop.y = random.below(image.height - crop.height + 1);
  crop.x = random.below(image.width - crop.width + 1);
  return crop;
}

/// The largest central crop whose ratio is in range.
pixel_rect fallback_crop(const image_size& image, const std::array<double, 2>& ratio) {
  const auto width = static_cast<double>(image.width);
  const auto height = static_cast<double>(image.height);
  // One pixel at least, where torchvision would ask for none.
  auto pixels = [](double x) { return static_cast<std::size_t>(std::max(1.0, round_even(x))); };
  pixel_rect crop{.width = image.width, .height = image.height};
  if (width / height < ratio[0])
    crop.height = pixels(width / ratio[0]);
  else if (width / height > ratio[1])
    crop.width = pixels(height * ratio[1]);
  crop.x = (image.width - crop.width) / 2;
  crop.y = (image.height - crop.height) / 2;
  return crop;
}

std::size_t centre(std::size_t extent, std::size_t kept) {
  return static_cast<std::size_t>(round_even(static_cast<double>(extent - kept) / 2));
}

} // namespace

pixel_rect random_crop(const image_size& image, const crop_ranges& ranges, rng& random) {
  constexpr int tries = 10;
  for (int i = 0; i < tries; ++i)
    if (auto crop = try_crop(image, ranges, random))
      return *crop;
  return fallback_crop(image, ranges.ratio);
}

image_size resized_to_shorter(const image_size& image, std::size_t shorter) {
  image_size resized{.width = shorter, .height = shorter};
  if (image.width < image.height)
    resized.height = shorter * image.height / image.width;
  else
    resized.width = shorter * image.width / image.height;
  return resized;
}

pixel_rect central_part(const image_size& image, const image_size& size) {
  return {centre(image.width, size.width), centre(image.height, size.height), size.width,
          size.height};
}

padding padding_to(const image_size& image, const image_size& size) {
  const auto missing = [](std::size_t have, std::size_t want) {
    return want > have ? want - have : 0;
  };
  const auto across = missing(image.width, size.width);
  const auto down = missing(image.height, size.height);
  return {.left = across / 2, .top = down / 2, .right = (across + 1) / 2, .bottom = (down + 1) / 2};
}

} // namespace leat
