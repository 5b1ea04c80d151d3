#pragma once

#include <leat/tensor_form.hpp>

#include <cstddef>
#include <cstdint>

namespace leat {

/// The bits of a float of 16 bits, rounded to nearest, halves to even.
std::uint16_t to_f16(float x) noexcept;
std::uint16_t to_bf16(float x) noexcept;

/// Writes element `at` of a tensor: a value of channel c, from 0 to 255.
void put_element(const tensor_form& form, double value, std::size_t c, std::size_t at,
                 std::byte* to) noexcept;
/// Writes a float as it is; into u8, rounded and cut.
void put_float(dtype type, float value, std::size_t at, std::byte* to) noexcept;

} // namespace leat
