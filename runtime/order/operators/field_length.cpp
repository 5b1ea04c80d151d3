#include "runtime/order/operators/field_length.hpp"

#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

namespace leat {

std::uint64_t field_length(const sample& x, const std::string& field) {
  const auto layout = sample_access::layout_of(x, field);
  if (layout.ragged)
    return x.bytes(field).size() / layout.unit_bytes();
  if (layout.dims.rank() == 0)
    throw bad_sample(cause::wrong_shape,
                     to_string(layout) + "; a length needs rank 1 or more, or bytes");
  return layout.dims[0];
}

} // namespace leat
