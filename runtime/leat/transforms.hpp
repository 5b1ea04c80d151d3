#pragma once

#include <leat/export.hpp>
#include <leat/tensor.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// One step from a decoded image to a tensor. Names, meanings, defaults and the order of random
/// decisions are those of torchvision.transforms.v2; random numbers are leat's own. Made by the
/// functions below; wrong arguments are found when a map is made from them.
struct image_transform {
  std::string name;
  std::vector<std::string> arguments;

  friend bool operator==(const image_transform&, const image_transform&) = default;
};

/// Height and width in pixels, 1 to 8192; one number stands for both.
struct image_extent {
  std::size_t height = 0;
  std::size_t width = 0;

  image_extent(std::size_t both)
      : height(both), width(both) {} // NOLINT(google-explicit-constructor)
  image_extent(std::size_t height_, std::size_t width_) : height(height_), width(width_) {}
};

/// A random part of the image, `scale` of its area, width / height within `ratio`, resized.
/// Antialiased bilinear, like all resizing here.
LEAT_API image_transform random_resized_crop(image_extent size,
                                             std::array<double, 2> scale = {0.08, 1.0},
                                             std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0});

/// The shorter side becomes `shorter` pixels, 1 to 8192; the longer one keeps the ratio.
LEAT_API image_transform resize(std::size_t shorter);
/// Both sides as given.
LEAT_API image_transform resize(std::size_t height, std::size_t width);

/// The middle; if the image is smaller, with black around it.
LEAT_API image_transform center_crop(image_extent size);

/// Mirrors left to right, with probability `p`.
LEAT_API image_transform random_horizontal_flip(double p = 0.5);

enum class padding_mode : std::uint8_t { constant, edge, reflect, symmetric };

/// Rows and columns to put around an image, in pixels; at most 8192 each.
struct pad_options {
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t right = 0;
  std::size_t bottom = 0;
  padding_mode mode = padding_mode::constant;
  /// R, G, B of constant, 0 to 255.
  std::array<double, 3> fill = {};
};
/// An image too small to be mirrored is a bad sample (wrong_shape).
LEAT_API image_transform pad(const pad_options& options);

/// [lowest, highest] factor of each; absent: not applied. Brightness, contrast and saturation at
/// least 0, where 1 changes nothing; hue -0.5 to 0.5, in full turns.
struct color_jitter_options {
  std::optional<std::array<double, 2>> brightness = {};
  std::optional<std::array<double, 2>> contrast = {};
  std::optional<std::array<double, 2>> saturation = {};
  std::optional<std::array<double, 2>> hue = {};
};
LEAT_API image_transform color_jitter(const color_jitter_options& options);
/// Strengths as in torchvision: v stands for [max(0, 1 - v), 1 + v], for hue [-v, v].
LEAT_API image_transform color_jitter(double brightness, double contrast = 0, double saturation = 0,
                                      double hue = 0);

/// (value / 255 - mean) / std for each channel, R, G, B. Defaults: those of ImageNet.
LEAT_API image_transform normalize(std::array<double, 3> mean = {0.485, 0.456, 0.406},
                                   std::array<double, 3> deviation = {0.229, 0.224, 0.225});

/// What fills an erased rectangle.
struct erasing_options {
  double p = 0.5;
  /// Share of the image's area, and height / width.
  std::array<double, 2> scale = {0.02, 0.33};
  std::array<double, 2> ratio = {0.3, 3.3};
  /// Elements of the tensor, R, G, B.
  std::array<double, 3> value = {};
  /// Standard normal noise instead; floats only.
  bool noise = false;
};
/// Erases a random rectangle of the finished tensor.
LEAT_API image_transform random_erasing(const erasing_options& options = {});

/// u8: 0 to 255. f32, f16, bf16: 0 to 1, or normalized. Without it: u8, or f32 if normalized.
LEAT_API image_transform to_dtype(dtype type);

enum class image_layout : std::uint8_t { nchw, nhwc };

/// Planes R, G, B (the default), or R, G, B of each pixel in turns.
LEAT_API image_transform to_layout(image_layout layout);

} // namespace leat
