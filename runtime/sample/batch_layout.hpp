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
  /// Bytes of any length instead of a tensor; `type` and `dims` then mean nothing.
  bool ragged = false;
  dtype type = dtype::u8;
  /// Shape of one row.
  shape dims = {};

  std::size_t row_bytes() const noexcept { return ragged ? 0 : dims.elements() * size_of(type); }

  friend bool operator==(const field_layout&, const field_layout&) = default;
};

/// "image f32 [3, 224, 224]", "txt bytes"
std::string to_string(const field_layout& x);

/// What rows of a batch consist of: its fields, in the order of their names.
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
