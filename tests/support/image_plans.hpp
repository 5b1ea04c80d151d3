#pragma once

#include <leat/resize_plan.hpp>

#include <random>

namespace leat::test {

/// Any part of an image.
inline pixel_rect random_part(const image_size& image, std::mt19937& random) {
  const auto width = 1 + random() % image.width;
  const auto height = 1 + random() % image.height;
  return {random() % (image.width - width + 1), random() % (image.height - height + 1), width,
          height};
}

/// Any window of any part, resized to at most `most` pixels per side.
inline resize_plan random_plan(const image_size& image, std::size_t most, std::mt19937& random) {
  const image_size resized{1 + random() % most, 1 + random() % most};
  return {random_part(image, random), resized, random_part(resized, random), random() % 2 == 0};
}

} // namespace leat::test
