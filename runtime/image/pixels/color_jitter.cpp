#include "runtime/image/pixels/color_jitter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace leat {

namespace {

float unit(float x) {
  return std::min(std::max(x, 0.0F), 1.0F);
}

float gray(float red, float green, float blue) {
  return red * 0.2989F + green * 0.587F + blue * 0.114F;
}

/// Summed in lanes, so that it can be done by wide instructions without another result: lane k has
/// the pixels k, k + 8, k + 16, ..., and the lanes are added from the first to the last.
float mean_gray(const float_image& image) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  const float* red = image.plane(0);
  const float* green = image.plane(1);
  const float* blue = image.plane(2);
  const std::size_t n = image.pixels();
  const std::size_t whole = n - n % lanes;
  for (std::size_t i = 0; i < whole; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k)
      sums[k] += static_cast<double>(gray(red[i + k], green[i + k], blue[i + k]));
  for (std::size_t i = whole; i < n; ++i)
    sums[i - whole] += static_cast<double>(gray(red[i], green[i], blue[i]));
  double sum = 0;
  for (const double x : sums)
    sum += x;
  return static_cast<float>(sum / static_cast<double>(n));
}

/// `share` of `range`, cut to 0 .. range.
float portion(float range, float share) {
  return std::min(std::max(range * share, 0.0F), range);
}

// The comparison fails for what is not a number, too.
std::optional<factor_range> checked(const factor_range& range, double lowest, double highest) {
  if (!(lowest <= range[0] && range[0] <= range[1] && range[1] <= highest))
    return std::nullopt;
  return range;
}

std::optional<double> draw(const std::optional<factor_range>& range, double neutral, rng& random) {
  if (!range || *range == factor_range{neutral, neutral})
    return std::nullopt;
  return random.uniform((*range)[0], (*range)[1]);
}

void adjust(const float_image& image, color_adjustment what, const color_jitter_factors& factors) {
  switch (what) {
  case color_adjustment::brightness:
    if (factors.brightness)
      adjust_brightness(image, *factors.brightness);
    break;
  case color_adjustment::contrast:
    if (factors.contrast)
      adjust_contrast(image, *factors.contrast);
    break;
  case color_adjustment::saturation:
    if (factors.saturation)
      adjust_saturation(image, *factors.saturation);
    break;
  case color_adjustment::hue:
    if (factors.hue)
      adjust_hue(image, *factors.hue);
    break;
  }
}

} // namespace

void adjust_brightness(const float_image& image, double factor) {
  const auto share = static_cast<float>(factor);
  for (std::size_t i = 0; i < 3 * image.pixels(); ++i)
    image.data[i] = unit(image.data[i] * share);
}

void adjust_contrast(const float_image& image, double factor) {
  const auto share = static_cast<float>(factor);
  const float rest = static_cast<float>(1 - factor) * mean_gray(image);
  for (std::size_t i = 0; i < 3 * image.pixels(); ++i)
    image.data[i] = unit(image.data[i] * share + rest);
}

void adjust_saturation(const float_image& image, double factor) {
  const auto share = static_cast<float>(factor);
  const auto gray_share = static_cast<float>(1 - factor);
  float* red = image.plane(0);
  float* green = image.plane(1);
  float* blue = image.plane(2);
  for (std::size_t i = 0; i < image.pixels(); ++i) {
    const float rest = gray_share * gray(red[i], green[i], blue[i]);
    red[i] = unit(red[i] * share + rest);
    green[i] = unit(green[i] * share + rest);
    blue[i] = unit(blue[i] * share + rest);
  }
}

// HSV and back in one, so that saturation cancels out. Choices are between values at hand, and no
// factor is a constant 0 or 1: else compilers make branches, and take one pixel at a time.
void adjust_hue(const float_image& image, double factor) {
  const auto turn = static_cast<float>(6 * factor);
  float* red = image.plane(0);
  float* green = image.plane(1);
  float* blue = image.plane(2);
  for (std::size_t i = 0; i < image.pixels(); ++i) {
    const float r = red[i];
    const float g = green[i];
    const float b = blue[i];
    const float value = std::max(std::max(r, g), b);
    const float range = value - std::min(std::min(r, g), b);
    const float divisor = std::max(range, std::numeric_limits<float>::min()); // gray: hue 0
    const float sector = value == r ? 0.0F : value == g ? 2.0F : 4.0F;
    const float next = value == r ? g : value == g ? b : r;
    const float previous = value == r ? b : value == g ? r : g;
    // In sixths of a turn: red is at 0 and 6, green at 2, blue at 4.
    const float turned = sector + (next - previous) / divisor + turn;
    const float hue = turned + (turned < 0 ? 6.0F : turned < 6 ? 0.0F : -6.0F);
    red[i] = value - portion(range, 2.0F - std::abs(hue - 3.0F));
    green[i] = value - portion(range, std::abs(hue - 2.0F) - 1.0F);
    blue[i] = value - portion(range, std::abs(hue - 4.0F) - 1.0F);
  }
}

std::optional<factor_range> jitter_range(double v) {
  if (!(v >= 0))
    return std::nullopt;
  return jitter_range(factor_range{std::max(0.0, 1 - v), 1 + v});
}

std::optional<factor_range> jitter_range(const factor_range& range) {
  constexpr double highest = 1000;
  return checked(range, 0, highest);
}

std::optional<factor_range> hue_range(double v) {
  return hue_range(factor_range{-v, v});
}

std::optional<factor_range> hue_range(const factor_range& range) {
  return checked(range, -0.5, 0.5);
}

color_jitter_factors draw_color_jitter(const color_jitter_ranges& ranges, rng& random) {
  color_jitter_factors result;
  for (std::size_t last = result.order.size() - 1; last > 0; --last)
    std::swap(result.order[last], result.order[random.below(last + 1)]);
  result.brightness = draw(ranges.brightness, 1, random);
  result.contrast = draw(ranges.contrast, 1, random);
  result.saturation = draw(ranges.saturation, 1, random);
  result.hue = draw(ranges.hue, 0, random);
  return result;
}

void adjust_color(const float_image& image, const color_jitter_factors& factors) {
  for (const auto what : factors.order)
    adjust(image, what, factors);
}

} // namespace leat
