#include "runtime/base/number_text.hpp"

#include <leat/transforms.hpp>

#include <string>

namespace leat {

namespace {

template <std::size_t N>
void append(image_transform& to, const std::array<double, N>& values) {
  for (const auto x : values)
    to.arguments.push_back(number_text(x));
}

/// Strength v as torchvision takes it.
std::array<double, 2> around_one(double v) {
  return {v < 1 ? 1 - v : 0, 1 + v};
}

} // namespace

image_transform random_resized_crop(image_extent size, std::array<double, 2> scale,
                                    std::array<double, 2> ratio) {
  image_transform x{"random_resized_crop", {number_text(size.height), number_text(size.width)}};
  append(x, scale);
  append(x, ratio);
  return x;
}

image_transform resize(std::size_t shorter) {
  return {"resize", {number_text(shorter)}};
}

image_transform resize(std::size_t height, std::size_t width) {
  return {"resize", {number_text(height), number_text(width)}};
}

image_transform center_crop(image_extent size) {
  return {"center_crop", {number_text(size.height), number_text(size.width)}};
}

image_transform random_horizontal_flip(double p) {
  return {"random_horizontal_flip", {number_text(p)}};
}

image_transform pad(const pad_options& options) {
  static constexpr std::array modes{"constant", "edge", "reflect", "symmetric"};
  image_transform x{"pad",
                    {number_text(options.left), number_text(options.top),
                     number_text(options.right), number_text(options.bottom),
                     modes[static_cast<std::size_t>(options.mode)]}};
  append(x, options.fill);
  return x;
}

image_transform color_jitter(const color_jitter_options& options) {
  constexpr std::array<double, 2> unchanged{1, 1};
  image_transform x{"color_jitter", {}};
  append(x, options.brightness.value_or(unchanged));
  append(x, options.contrast.value_or(unchanged));
  append(x, options.saturation.value_or(unchanged));
  append(x, options.hue.value_or(std::array<double, 2>{0, 0}));
  return x;
}

image_transform color_jitter(double brightness, double contrast, double saturation, double hue) {
  return color_jitter({.brightness = around_one(brightness),
                       .contrast = around_one(contrast),
                       .saturation = around_one(saturation),
                       .hue = std::array<double, 2>{-hue, hue}});
}

image_transform normalize(std::array<double, 3> mean, std::array<double, 3> deviation) {
  image_transform x{"normalize", {}};
  append(x, mean);
  append(x, deviation);
  return x;
}

image_transform random_erasing(const erasing_options& options) {
  image_transform x{"random_erasing", {number_text(options.p)}};
  append(x, options.scale);
  append(x, options.ratio);
  if (options.noise)
    x.arguments.emplace_back("noise");
  else
    append(x, options.value);
  return x;
}

image_transform to_dtype(dtype type) {
  return {"to_dtype", {std::string{to_string(type)}}};
}

image_transform to_layout(image_layout layout) {
  return {"to_layout", {layout == image_layout::nchw ? "nchw" : "nhwc"}};
}

} // namespace leat
