#pragma once

#include "runtime/sources/lines/json_types.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <span>

namespace leat {

/// Deepest nesting of brackets in a line.
inline constexpr std::size_t max_json_depth = 256;
/// So many bytes after a line must be readable: a line feed, and whatever follows it.
inline constexpr std::size_t json_slack = 64;

/// Sets the members of a JSON object as fields: see `json_lines`. `line` must outlive the sample's
/// row, as fields may borrow it. Throws `bad_sample`: corrupt for anything but an object, too_large
/// if it is nested too deeply; unsupported for an integer that int64 cannot hold, in a field for
/// which `types` has none; wrong_shape for a value that is not of the type that it has.
void set_json_fields(std::span<const std::byte> line, sample& into, const json_types& types = {});

} // namespace leat
