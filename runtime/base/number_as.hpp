#pragma once

#include "runtime/base/number_text.hpp"

#include <leat/bad_sample.hpp>
#include <leat/tensor.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace leat {

/// Converts a number given by a user or in data to T: an integer exactly, also to a float type if
/// that can represent it; a fraction to the nearest float. Nothing if T cannot represent the
/// number: it is never truncated, wrapped around, or made infinite.
template <class T, class Number>
std::optional<T> number_as(Number x) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<Number>) {
    return std::in_range<T>(x) ? std::optional{static_cast<T>(x)} : std::nullopt;
  } else if constexpr (std::is_integral_v<T>) {
    // One more than the largest value of T: a power of two, and so exact as a float.
    const auto end = std::ldexp(Number{1}, std::numeric_limits<T>::digits);
    const bool fits = x >= static_cast<Number>(std::numeric_limits<T>::min()) && x < end;
    return fits && x == std::trunc(x) ? std::optional{static_cast<T>(x)} : std::nullopt;
  } else if constexpr (std::is_integral_v<Number>) {
    const auto rounded = static_cast<T>(x);
    return number_as<Number>(rounded) == x ? std::optional{rounded} : std::nullopt;
  } else {
    if (std::isfinite(x) && std::abs(x) > static_cast<Number>(std::numeric_limits<T>::max()))
      return std::nullopt;
    return static_cast<T>(x);
  }
}

/// The number as an element of a field; throws `bad_sample` (wrong_shape) if the field's type
/// cannot represent it.
template <class T, class Number>
T element_of(Number x, std::string_view field) {
  if (const auto element = number_as<T>(x))
    return *element;
  throw bad_sample(cause::wrong_shape, "field \"" + std::string{field} + "\" is "
                                           + std::string{to_string(dtype_of<T>())}
                                           + ", which cannot represent " + number_text(x));
}

/// Calls `f` with a zero of the type. Throws `bad_sample` (wrong_shape) for types that C++ has no
/// arithmetic for.
template <class F>
decltype(auto) visit_type(dtype type, F f) {
  switch (type) {
  case dtype::u8:
    break;
  case dtype::i8:
    return f(std::int8_t{});
  case dtype::u16:
    return f(std::uint16_t{});
  case dtype::i16:
    return f(std::int16_t{});
  case dtype::u32:
    return f(std::uint32_t{});
  case dtype::i32:
    return f(std::int32_t{});
  case dtype::u64:
    return f(std::uint64_t{});
  case dtype::i64:
    return f(std::int64_t{});
  case dtype::f32:
    return f(float{});
  case dtype::f64:
    return f(double{});
  case dtype::f16:
  case dtype::bf16:
    throw bad_sample(cause::wrong_shape,
                     "a field of 16-bit floats cannot be used as a number here");
  }
  return f(std::uint8_t{});
}

} // namespace leat
