#pragma once

#include "runtime/base/number_as.hpp"

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

/// The same, if they are UTF-8; otherwise the sample is bad (corrupt).
std::string_view utf8_text_of(const sample& x, std::string_view field);
/// Throws `bad_sample` (corrupt) for the text of a field that is not UTF-8.
void check_utf8(std::string_view text, std::string_view field);

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

} // namespace leat
