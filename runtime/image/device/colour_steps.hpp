#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"
#include "runtime/image/device/pixel_values.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

// Adjusts colours of floats from 0 to 1: what leat::adjust_color does, each operation rounded by
// itself, and its mean gray, summed in eight lanes.

namespace colour_steps {

struct rgb {
  float red;
  float green;
  float blue;
};

// As std::min and std::max choose.
LEAT_ON_BOTH inline float lower(float a, float b) {
  return b < a ? b : a;
}
LEAT_ON_BOTH inline float higher(float a, float b) {
  return a < b ? b : a;
}
LEAT_ON_BOTH inline float unit(float x) {
  return lower(higher(x, 0.0F), 1.0F);
}
LEAT_ON_BOTH inline float magnitude(float x) {
  return x < 0 ? -x : x;
}

LEAT_ON_BOTH inline float gray(const rgb& x) {
  return x.red * 0.2989F + x.green * 0.587F + x.blue * 0.114F;
}

/// `share` of `range`, cut to 0 .. range.
LEAT_ON_BOTH inline float portion(float range, float share) {
  return lower(higher(range * share, 0.0F), range);
}

LEAT_ON_BOTH inline rgb blended(const rgb& x, float share, float rest) {
  return {unit(x.red * share + rest), unit(x.green * share + rest), unit(x.blue * share + rest)};
}

LEAT_ON_BOTH inline rgb turned(const rgb& x, float turn) {
  constexpr float lowest = 1.17549435e-38F; // a gray has hue 0
  const float value = higher(higher(x.red, x.green), x.blue);
  const float range = value - lower(lower(x.red, x.green), x.blue);
  const float divisor = higher(range, lowest);
  const bool is_red = value == x.red;
  const bool is_green = value == x.green;
  const float sector = is_red ? 0.0F : is_green ? 2.0F : 4.0F;
  const float next = is_red ? x.green : is_green ? x.blue : x.red;
  const float previous = is_red ? x.blue : is_green ? x.red : x.green;
  const float place = sector + (next - previous) / divisor + turn;
  const float hue = place + (place < 0 ? 6.0F : place < 6 ? 0.0F : -6.0F);
  return {value - portion(range, 2.0F - magnitude(hue - 3.0F)),
          value - portion(range, magnitude(hue - 2.0F) - 1.0F),
          value - portion(range, magnitude(hue - 4.0F) - 1.0F)};
}

/// Pixel i after the first steps. `mean`: the mean gray before the contrast is adjusted.
LEAT_ON_BOTH inline rgb adjusted(const device_group& group, const device_image& image,
                                 std::uint32_t i, std::uint32_t steps, float mean) {
  const device_jitter& jitter = image.jitter;
  const std::size_t plane = static_cast<std::size_t>(image.pixels.width) * image.pixels.height;
  const float* from = group.floats + jitter.first_float + i;
  rgb x{from[0], from[plane], from[2 * plane]};
  for (std::uint32_t s = 0; s < steps; ++s) {
    const float share = jitter.shares[s];
    switch (jitter.steps[s]) {
    case device_adjustment::brightness:
      x = {unit(x.red * share), unit(x.green * share), unit(x.blue * share)};
      break;
    case device_adjustment::contrast:
      x = blended(x, share, jitter.rests[s] * mean);
      break;
    case device_adjustment::saturation:
      x = blended(x, share, jitter.rests[s] * gray(x));
      break;
    default:
      x = turned(x, share);
    }
  }
  return x;
}

/// A value from 0 to 1 as an element, by way of doubles: leat::put_element.
LEAT_ON_BOTH inline std::uint32_t element_of(device_element type, float x, double mean,
                                             double deviation) {
  const double value = 255.0 * static_cast<double>(x);
  if (type == device_element::u8) {
    const double cut = value < 0.0 ? 0.0 : value > 255.0 ? 255.0 : value;
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): as leat::put_element rounds
    return static_cast<std::uint32_t>(cut + 0.5);
  }
  const auto normal = static_cast<float>((value / 255 - mean) / deviation);
  return type == device_element::f16    ? pixel_values::to_f16(normal)
         : type == device_element::bf16 ? pixel_values::to_bf16(normal)
                                        : pixel_values::bits_of(normal);
}

LEAT_ON_BOTH inline void put_element(device_element type, std::uint32_t bits, std::size_t at,
                                     std::byte* to) {
  if (type == device_element::u8)
    reinterpret_cast<std::uint8_t*>(to)[at] = static_cast<std::uint8_t>(bits);
  else if (type == device_element::f32)
    reinterpret_cast<std::uint32_t*>(to)[at] = bits;
  else
    reinterpret_cast<std::uint16_t*>(to)[at] = static_cast<std::uint16_t>(bits);
}

} // namespace colour_steps

/// Lanes in which grays are summed: lane k has the pixels k, k + 8, k + 16, ...
inline constexpr std::uint32_t gray_lanes = 8;

/// The gray of pixel i before the contrast is adjusted.
LEAT_ON_BOTH inline float gray_before_contrast(const device_group& group, const device_image& image,
                                               std::uint32_t i) {
  return colour_steps::gray(colour_steps::adjusted(group, image, i, image.jitter.contrast, 0));
}

/// From the sums of lanes, which are added from the first to the last.
LEAT_ON_BOTH inline float mean_gray_of(const double* sums, std::uint32_t pixels) {
  double sum = 0;
  for (std::uint32_t lane = 0; lane < gray_lanes; ++lane)
    sum += sums[lane];
  return static_cast<float>(sum / static_cast<double>(pixels));
}

/// Adjusts one pixel, for each thread of a tile, and writes it to the tensor.
LEAT_ON_BOTH inline void adjust_pixel(const device_group& group, const device_tile& tile,
                                      std::uint32_t thread) {
  const device_image& image = group.images[tile.image];
  const device_jitter& jitter = image.jitter;
  const device_pixels& form = jitter.pixels;
  const std::uint32_t pixels = form.width * form.height;
  const std::uint32_t i = tile.number * device_tiles::colours + thread;
  if (i >= pixels || form.to == nullptr)
    return;
  const float mean = jitter.contrast < jitter.num_steps ? group.grays[tile.image] : 0.0F;
  const auto x = colour_steps::adjusted(group, image, i, jitter.num_steps, mean);
  const float values[3]{x.red, x.green, x.blue};
  const bool is_erased = i / form.width - form.erased_y < form.erased_height
                         && i % form.width - form.erased_x < form.erased_width;
  LEAT_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    const std::uint32_t bits =
        is_erased
            ? form.erased[c]
            : colour_steps::element_of(form.type, values[c], jitter.mean[c], jitter.deviation[c]);
    const std::size_t plane = static_cast<std::size_t>(c) * pixels + i;
    const std::size_t turn = static_cast<std::size_t>(i) * 3 + c;
    colour_steps::put_element(form.type, bits, form.planes != 0 ? plane : turn, form.to);
  }
}

} // namespace leat
