#pragma once

#include "runtime/image/pixels/crop.hpp"
#include "runtime/image/pixels/image_view.hpp"

#include <leat/resize_plan.hpp>
#include <leat/rng.hpp>
#include <leat/tensor_form.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

/// All types and layouts, normalised.
inline std::vector<tensor_form> forms() {
  std::vector<tensor_form> all;
  for (const auto type : {dtype::f32, dtype::u8, dtype::f16, dtype::bf16})
    for (const auto layout : {image_layout::nchw, image_layout::nhwc})
      all.push_back({.type = type,
                     .layout = layout,
                     .mean = {0.485F, 0.456F, 0.406F},
                     .std = {0.229F, 0.224F, 0.225F}});
  return all;
}

/// A random crop, flipped or not.
inline resize_plan train_plan(const image_size& image, std::uint32_t seed,
                              double lowest_scale = 0.08, std::size_t size = 224) {
  rng random(seed, 0);
  const auto crop = random_crop(image, {{lowest_scale, 1.0}, {3.0 / 4.0, 4.0 / 3.0}}, random);
  return {crop, {size, size}, {0, 0, size, size}, random.coin(0.5)};
}

/// The middle.
inline resize_plan eval_plan(const image_size& image) {
  return central_view(image, 256, 224);
}

/// Shrinks by more than three, which needs tables of another kind.
inline resize_plan thumbnail_plan(const image_size& image, std::size_t ratio) {
  const image_size size{1 + image.width / ratio, 1 + image.height / ratio};
  return {{0, 0, image.width, image.height}, size, {0, 0, size.width, size.height}, true};
}

/// A few pixels, enlarged to a width that is not a multiple of any vector's.
inline resize_plan tiny_plan(const image_size& image, std::mt19937& random) {
  auto part = random_part(image, random);
  part.width = std::min(part.width, 1 + random() % 9);
  part.height = std::min(part.height, 1 + random() % 9);
  return {part, {37, 29}, {3, 2, 31, 23}, random() % 2 == 0};
}

inline std::string to_string(const resize_plan& x) {
  auto text = [](const pixel_rect& r) {
    return std::to_string(r.x) + "," + std::to_string(r.y) + " " + std::to_string(r.width) + "x"
           + std::to_string(r.height);
  };
  return text(x.source) + " to " + std::to_string(x.resized.width) + "x"
         + std::to_string(x.resized.height) + ", of it " + text(x.window)
         + (x.mirrored ? ", mirrored" : "");
}

} // namespace leat::test
