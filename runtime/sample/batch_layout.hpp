#pragma once

#include <leat/tensor.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// One field of a batch.
struct field_layout {
  std::string name;
  /// As many elements as each row's sample has, along the outermost dimension; otherwise a tensor
  /// of the same shape in every row.
  bool ragged = false;
  dtype type = dtype::u8;
  /// Shape of one row; for a ragged field, shape of one of its elements, which has at least one
  /// byte.
  shape dims = {};

  /// Bytes of any length: ragged, of type u8, its elements of rank 0.
  bool is_bytes() const noexcept { return ragged && type == dtype::u8 && dims.rank() == 0; }
  /// Bytes of a tensor's row, or of one element of a ragged field.
  std::size_t unit_bytes() const noexcept { return dims.elements() * size_of(type); }
  /// Bytes of each row in a dense block; 0 for ragged fields.
  std::size_t row_bytes() const noexcept { return ragged ? 0 : unit_bytes(); }

  friend bool operator==(const field_layout&, const field_layout&) = default;
};

/// "image f32 [3, 224, 224]", "txt bytes", "boxes ragged f32 [4]"
std::string to_string(const field_layout& x);

/// The fields of a batch, in the order of their names.
class batch_layout {
public:
  batch_layout() = default;
  /// Sorts the fields by name.
  explicit batch_layout(std::vector<field_layout> fields);

  const std::vector<field_layout>& fields() const noexcept { return fields_; }
  /// Index of a field, or fields().size().
  std::size_t find(std::string_view name) const noexcept;

private:
  std::vector<field_layout> fields_;
};

} // namespace leat
