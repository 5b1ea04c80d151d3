#pragma once

#include <leat/sample.hpp>

#include <cstddef>
#include <span>

namespace leat {

/// Deepest nesting of brackets in a line.
inline constexpr std::size_t max_json_depth = 256;

/// Sets the members of a JSON object as fields: see `json_lines`. Throws `bad_sample`: corrupt for
/// anything but an object, too_large if it is nested too deeply.
void set_json_fields(std::span<const std::byte> line, sample& into);

} // namespace leat
