#include "runtime/image/pixels/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace leat {

namespace {

template <class T>
void put(T value, std::size_t at, std::byte* to) noexcept {
  std::memcpy(to + at * sizeof value, &value, sizeof value);
}

std::uint8_t to_u8(double x) noexcept {
  return static_cast<std::uint8_t>(std::floor(std::clamp(x, 0.0, 255.0) + 0.5));
}

} // namespace

std::uint16_t to_f16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const double size = std::abs(static_cast<double>(x));
  if (!(size < 65520)) // what rounds above the highest one; not-a-number too
    return static_cast<std::uint16_t>(sign | (std::isnan(x) ? 0x7E00 : 0x7C00));
  // Distance of neighbours; below 2^-14 it stays the same.
  const int exponent = std::max(size == 0 ? -14 : std::ilogb(size), -14);
  const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign
                                    | (steps + (static_cast<std::uint32_t>(exponent + 14) << 10)));
}

std::uint16_t to_bf16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x))
    return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void put_element(const tensor_form& form, double value, std::size_t c, std::size_t at,
                 std::byte* to) noexcept {
  if (form.type == dtype::u8)
    return put(to_u8(value), at, to);
  const double mean = form.mean[c];
  const double deviation = form.std[c];
  put_float(form.type, static_cast<float>((value / 255 - mean) / deviation), at, to);
}

void put_float(dtype type, float value, std::size_t at, std::byte* to) noexcept {
  switch (type) {
  case dtype::u8:
    return put(to_u8(value), at, to);
  case dtype::f16:
    return put(to_f16(value), at, to);
  case dtype::bf16:
    return put(to_bf16(value), at, to);
  default:
    return put(value, at, to);
  }
}

} // namespace leat
