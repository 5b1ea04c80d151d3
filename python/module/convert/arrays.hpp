#pragma once

#include <leat/field.hpp>
#include <leat/tensor.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/python.hpp"

#include <span>
#include <string_view>

namespace leat::python {

/// Any contiguous array in CPU memory: of NumPy, torch, or anything that supports DLPack.
using any_array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// The element type of an array; bool is u8. Throws `errc::invalid_argument` for other types.
dtype dtype_of_array(const any_array& x);

nb::dlpack::dtype dlpack_type(dtype x) noexcept;

/// Memory to be exported as an array, without a copy. The array keeps `owner` alive.
struct lent_memory {
  const void* data = nullptr;
  dtype type = dtype::u8;
  std::span<const std::int64_t> shape;
  nb::handle owner;
  bool is_read_only = false;
};

/// As a NumPy array. bf16 needs the package ml_dtypes.
nb::object as_numpy(const lent_memory& x);
/// As an object with `__dlpack__`.
nb::object as_dlpack(const lent_memory& x);

/// Bytes as a str; `errors` is as for `bytes.decode` and decides about bytes that are not UTF-8.
nb::str decoded(std::string_view bytes, const char* errors);
/// Bytes that must be UTF-8 as a str. Throws Python's UnicodeDecodeError.
nb::object as_text(std::string_view bytes);

/// Offsets of rows as int64: torch and JAX hardly support uint64.
nb::object offsets_as_numpy(std::span<const std::uint64_t> offsets, nb::handle owner);

} // namespace leat::python
