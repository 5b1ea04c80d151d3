#pragma once

#include <leat/error.hpp>
#include <leat/field.hpp>
#include <leat/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace leat {

template <class T>
struct padding_options {
  /// What rows are filled up with.
  T value = {};
  /// All rows get the longest one's length, rounded up to a multiple of this; at least 1.
  std::size_t multiple = 1;
};

/// Rows of a ragged field, copied and filled up to one length, for models that take a rectangle:
/// [rows, length, ...]. A row's own length is still told by the field's offsets. The batch's memory
/// and what is hashed of it have no padding.
template <class T, std::size_t N>
class padded_rows {
public:
  padded_rows(std::vector<T> values, const std::array<std::size_t, N + 1>& extents)
      : values_(std::move(values)), extents_(extents) {}

  /// [rows, length, ...]; valid as long as this object.
  tensor_view<const T, N + 1> view() const noexcept { return {values_.data(), extents_}; }
  tensor_view<T, N + 1> view() noexcept { return {values_.data(), extents_}; }
  /// Length of each row: that of the longest, rounded up. 0 where no row has an element.
  std::size_t length() const noexcept { return extents_[1]; }

private:
  std::vector<T> values_;
  std::array<std::size_t, N + 1> extents_;
};

/// Throws `errc::invalid_argument` for a multiple of 0, std::bad_alloc. Invalid rows are all
/// padding.
///
///     const auto tokens = leat::padded(batch->ragged<std::int32_t, 1>("tokens"),
///                                      {.value = end_of_text, .multiple = 64});
template <class T, std::size_t N>
padded_rows<std::remove_const_t<T>, N>
padded(const ragged_tensor_view<T, N>& rows,
       const std::type_identity_t<padding_options<std::remove_const_t<T>>>& options = {}) {
  if (options.multiple == 0)
    throw error(
        errc::invalid_argument,
        {.stage = "padded", .got = "rows padded to a multiple of 0", .needed = "1 or more"});
  std::size_t length = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    length = std::max(length, rows[i].extents()[0]);
  length = (length + options.multiple - 1) / options.multiple * options.multiple;
  std::array<std::size_t, N + 1> extents{rows.size(), length};
  std::size_t width = length; // numbers of a row
  for (std::size_t d = 1; d < N; ++d) {
    extents[d + 1] = rows.values.extents()[d];
    width *= extents[d + 1];
  }
  std::vector<std::remove_const_t<T>> values;
  values.reserve(rows.size() * width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = rows[i];
    values.insert(values.end(), row.data(), row.data() + row.size());
    values.resize((i + 1) * width, options.value);
  }
  return {std::move(values), extents};
}

} // namespace leat
