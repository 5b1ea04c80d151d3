#pragma once

#include <leat/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// The most dimensions of a field in a batch: those of a sample's tensor, with the rows outermost.
inline constexpr std::size_t max_dimensions = shape::max_rank + 1;

/// Where memory is, in DLPack's numbers: type 1 is the processor's own memory.
struct device {
  std::int32_t type = 1;
  std::int32_t id = 0;

  friend bool operator==(const device&, const device&) = default;
};

/// A field as it lies in a batch, whatever its type and rank: what torch::from_blob, DLPack or
/// NumPy ask for. Row-major. Borrowed, like everything that a batch hands out.
///
/// In a ragged field the rows follow one another along the outermost dimension: row i is elements
/// offsets[i] up to, but not including, offsets[i + 1].
struct field_view {
  dtype type = dtype::u8;
  std::size_t rank = 0;
  /// The first `rank` are set: [rows, ...], or, for a ragged field, [elements of all rows, ...].
  std::array<std::int64_t, max_dimensions> shape = {};
  /// In elements of `type`, as DLPack counts.
  std::array<std::int64_t, max_dimensions> strides = {};
  const std::byte* data = nullptr;
  /// For a ragged field rows + 1 offsets, the first of which is 0; rows without a sample have no
  /// elements. Empty for a tensor.
  std::span<const std::uint64_t> offsets = {};
  device where = {};

  bool is_ragged() const noexcept { return !offsets.empty(); }
  /// Values of `type` in all rows.
  std::size_t size() const noexcept {
    std::size_t n = 1;
    for (std::size_t i = 0; i < rank; ++i)
      n *= static_cast<std::size_t>(shape[i]);
    return n;
  }
  std::span<const std::byte> bytes() const noexcept { return {data, size() * size_of(type)}; }
};

/// Rows of different lengths: row i is elements offsets[i] up to, but not including,
/// offsets[i + 1] of `values`, along the outermost dimension.
template <class T, std::size_t N>
struct ragged_tensor_view {
  tensor_view<T, N> values;
  /// rows + 1 entries, the first is 0. Invalid rows have no elements.
  std::span<const std::uint64_t> offsets;

  /// Number of rows.
  std::size_t size() const noexcept { return offsets.size() - 1; }
  tensor_view<T, N> operator[](std::size_t row) const noexcept {
    auto extents = values.extents();
    extents[0] = offsets[row + 1] - offsets[row];
    std::size_t width = 1;
    for (std::size_t d = 1; d < N; ++d)
      width *= extents[d];
    return {values.data() + offsets[row] * width, extents};
  }
};

} // namespace leat
