#pragma once

#include <leat/bad_sample.hpp>
#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace leat {

/// The value of a field as a number: a tensor of rank 0, or bytes that are a decimal number. Throws
/// `bad_sample` (missing_field, wrong_shape; corrupt for other bytes).
double number_of(const sample& x, std::string_view field);

/// The value of a tensor of rank 0 and an integer type, modulo 2^64. Throws `bad_sample`
/// (missing_field, wrong_shape).
std::uint64_t integer_of(const sample& x, std::string_view field);

/// The bytes of a field that is bytes. Throws `bad_sample` (missing_field, wrong_shape).
std::string_view text_of(const sample& x, std::string_view field);

/// The elements of a field of rank 1, or of bytes. Borrowed like the field itself.
struct field_elements {
  /// u8 for bytes.
  dtype type = dtype::u8;
  /// True for bytes, too.
  bool is_ragged = false;
  std::span<const std::byte> data = {};

  std::size_t size() const noexcept { return data.size() / size_of(type); }
  field_elements part(std::size_t from, std::size_t count) const {
    return {type, is_ragged, data.subspan(from * size_of(type), count * size_of(type))};
  }
};

/// Throws `bad_sample` (missing_field; wrong_shape for another rank).
field_elements elements_of(const sample& x, std::string_view field);

/// Makes a field of `size` elements of the same kind as `like`, for the caller to write. `like` may
/// belong to the same field, and can still be read afterwards.
std::span<std::byte> make_elements(sample& x, std::string_view field, const field_elements& like,
                                   std::size_t size);

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
