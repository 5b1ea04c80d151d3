#pragma once

#include "runtime/image/pixels/float_image.hpp"

#include <leat/rng.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace leat {

// Source of all: ColorJitter of torchvision.transforms.v2 and its functionals for float images,
// version 0.28. Single-precision arithmetic, each operation rounded by itself, so that pixels are
// the same to the last bit on every machine. Torch fuses some operations where a processor can, and
// turns hues in more steps: values differ from its own by 2e-6 at most.

/// Every value times `factor`, at least 0; then cut to 0 .. 1.
void adjust_brightness(const float_image& image, double factor);

/// Away from (or towards) the image's mean gray, `factor` at least 0; then cut to 0 .. 1. Gray is
/// .2989 R + .587 G + .114 B. The image has at least one pixel.
void adjust_contrast(const float_image& image, double factor);

/// Away from (or towards) each pixel's own gray, `factor` at least 0; then cut to 0 .. 1.
void adjust_saturation(const float_image& image, double factor);

/// Turns hues, by way of HSV, by `factor` of a full turn, -0.5 to 0.5.
void adjust_hue(const float_image& image, double factor);

/// Lowest and highest factor.
using factor_range = std::array<double, 2>;

/// From ColorJitter's argument for brightness, contrast or saturation: a number v is
/// [max(0, 1 - v), 1 + v]. Nothing unless 0 <= lowest <= highest <= 1000; torchvision has no
/// highest.
std::optional<factor_range> jitter_range(double v);
std::optional<factor_range> jitter_range(const factor_range& range);

/// From ColorJitter's argument for hue: a number v is [-v, v]. Nothing unless
/// -0.5 <= lowest <= highest <= 0.5.
std::optional<factor_range> hue_range(double v);
std::optional<factor_range> hue_range(const factor_range& range);

/// Ranges of factors. One that is absent, or holds nothing but the factor that changes nothing
/// (hue 0, else 1), is neither drawn nor applied.
struct color_jitter_ranges {
  std::optional<factor_range> brightness;
  std::optional<factor_range> contrast;
  std::optional<factor_range> saturation;
  std::optional<factor_range> hue;
};

enum class color_adjustment : std::uint8_t { brightness, contrast, saturation, hue };

/// What happens to one image. An absent factor is not applied.
struct color_jitter_factors {
  std::optional<double> brightness;
  std::optional<double> contrast;
  std::optional<double> saturation;
  std::optional<double> hue;
  /// Each adjustment once.
  std::array<color_adjustment, 4> order{color_adjustment::brightness, color_adjustment::contrast,
                                        color_adjustment::saturation, color_adjustment::hue};
};

/// Draws the order first: from brightness, contrast, saturation, hue, the last place is swapped
/// with one of `below(4)`, the third with one of `below(3)`, the second with one of `below(2)`.
/// Then the factors of those that are applied, in the same list's order, each uniform in its range.
color_jitter_factors draw_color_jitter(const color_jitter_ranges& ranges, rng& random);

/// Applies the factors in their order.
void adjust_color(const float_image& image, const color_jitter_factors& factors);

} // namespace leat
