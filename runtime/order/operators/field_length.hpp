#pragma once

#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

#include <cstdint>
#include <string>

namespace leat {

/// The extent of a field's outermost dimension: tokens, frames, bytes. Throws `bad_sample`: no such
/// field, or one of rank 0.
inline std::uint64_t field_length(const sample& x, const std::string& field) {
  const auto layout = sample_access::layout_of(x, field);
  if (layout.ragged)
    return x.bytes(field).size() / layout.unit_bytes();
  if (layout.dims.rank() == 0)
    throw bad_sample(cause::wrong_shape,
                     to_string(layout) + "; a length needs rank 1 or more, or bytes");
  return layout.dims[0];
}

} // namespace leat
