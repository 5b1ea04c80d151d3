#pragma once

#include <leat/sample.hpp>

#include <cstdint>
#include <string>

namespace leat {

/// The extent of a field's outermost dimension: tokens, frames, bytes. Throws `bad_sample`: no such
/// field, or one of rank 0.
std::uint64_t field_length(const sample& x, const std::string& field);

} // namespace leat
