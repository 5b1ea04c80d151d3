#pragma once

#include <leat/sample.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace leat {

/// All fields of a sample: name, kind, shape and bytes of each, in their order.
std::string bytes_of(const sample& x);

/// Sets the fields that `bytes_of` wrote. Fields of bytes borrow from `bytes`, which must outlive
/// the row. Throws `bad_sample` (corrupt) for anything that `bytes_of` would not write.
void set_fields(sample& into, std::span<const std::byte> bytes);

} // namespace leat
