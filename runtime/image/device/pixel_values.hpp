#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"

#include <cstdint>

namespace leat {

// Sums of a pixel's planes to the elements of a tensor: what leat::resample_kernels does, one pixel
// at a time. Floats are made by one product and one sum, each rounded.

namespace pixel_values {

constexpr int pixel_bits = 20;
/// Bits after the point of a plane's value before its colour is known.
constexpr int value_bits = 6;
constexpr int colour_bits = pixel_bits - value_bits;

/// x * 2^14, rounded.
LEAT_ON_BOTH constexpr int factor(double x) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings): of numbers above zero, at compile time
  return static_cast<int>(x * (1 << colour_bits) + 0.5);
}
constexpr int unit = factor(1);
constexpr int red_by_cr = factor(1.402);
constexpr int green_by_cr = factor(0.714136286);
constexpr int green_by_cb = factor(0.344136286);
constexpr int blue_by_cb = factor(1.772);

LEAT_ON_BOTH inline int clamp_colour(int x) {
  constexpr int high = 255 << pixel_bits;
  return x < 0 ? 0 : x > high ? high : x;
}

/// Values of planes, saturated to 16 bits, to R, G, B of 0 to 255 * 2^20.
/// Source: ITU-T T.871 (JFIF), section 7.
LEAT_ON_BOTH inline void to_colours(device_colours colours, const int* planes, int* rgb) {
  if (colours != device_colours::ycc) {
    const bool is_gray = colours == device_colours::gray;
    rgb[0] = clamp_colour(planes[0] * unit);
    rgb[1] = is_gray ? rgb[0] : clamp_colour(planes[1] * unit);
    rgb[2] = is_gray ? rgb[0] : clamp_colour(planes[2] * unit);
    return;
  }
  constexpr int middle = 128 << value_bits;
  const int luma = planes[0] * unit;
  const int u = static_cast<std::int16_t>(static_cast<std::uint16_t>(planes[1] - middle));
  const int v = static_cast<std::int16_t>(static_cast<std::uint16_t>(planes[2] - middle));
  rgb[0] = clamp_colour(luma + v * red_by_cr);
  rgb[1] = clamp_colour(luma - v * green_by_cr - u * green_by_cb);
  rgb[2] = clamp_colour(luma + u * blue_by_cb);
}

LEAT_ON_BOTH inline float to_f32(int x, float scale, float offset) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(__fmul_rn(__int2float_rn(x), scale), offset);
#else
  return static_cast<float>(x) * scale + offset;
#endif
}

LEAT_ON_BOTH inline std::uint32_t bits_of(float x) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(x);
#else
  return __builtin_bit_cast(std::uint32_t, x);
#endif
}
LEAT_ON_BOTH inline float float_of(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}

// Rounded to nearest, halves to even, by whole numbers.

LEAT_ON_BOTH inline std::uint16_t to_bf16(float x) {
  const std::uint32_t bits = bits_of(x);
  return static_cast<std::uint16_t>((bits + (bits >> 16 & 1) + 0x7FFF) >> 16);
}

/// Source: the bit patterns are those of IEEE 754-2008, binary16.
LEAT_ON_BOTH inline std::uint16_t to_f16(float x) {
  const std::uint32_t bits = bits_of(x);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t size = bits & 0x7FFFFFFF;
  std::uint32_t value = 0;
  if (size < static_cast<std::uint32_t>(127 - 14) << 23) {
    // Below 2^-14 a sum with 2^-1 rounds the bits that fall off.
    constexpr std::uint32_t magic = static_cast<std::uint32_t>(127 - 15 + 23 - 10 + 1) << 23;
    value = bits_of(float_of(size) + float_of(magic)) - magic;
  } else {
    value = (size + (size >> 13 & 1) - (static_cast<std::uint32_t>(127 - 15) << 23) + 0xFFF) >> 13;
  }
  // Above the highest one: infinity.
  return static_cast<std::uint16_t>(sign | (value < 0x7C00 ? value : 0x7C00));
}

LEAT_ON_BOTH inline std::uint8_t to_u8(int x) {
  return static_cast<std::uint8_t>((x + (1 << (pixel_bits - 1))) >> pixel_bits);
}

} // namespace pixel_values

// How a value of R, G or B becomes an element of a tensor.

struct to_u8_element {
  using element = std::uint8_t;
  LEAT_ON_BOTH static element of(int x, float, float) { return pixel_values::to_u8(x); }
};
struct to_f16_element {
  using element = std::uint16_t;
  LEAT_ON_BOTH static element of(int x, float scale, float offset) {
    return pixel_values::to_f16(pixel_values::to_f32(x, scale, offset));
  }
};
struct to_bf16_element {
  using element = std::uint16_t;
  LEAT_ON_BOTH static element of(int x, float scale, float offset) {
    return pixel_values::to_bf16(pixel_values::to_f32(x, scale, offset));
  }
};
struct to_f32_element {
  using element = std::uint32_t; // its bits
  LEAT_ON_BOTH static element of(int x, float scale, float offset) {
    return pixel_values::bits_of(pixel_values::to_f32(x, scale, offset));
  }
};

} // namespace leat
