#pragma once

#include <leat/sample.hpp>

#include <cstddef>
#include <span>

namespace leat {

/// Deepest nesting of brackets in a line.
inline constexpr std::size_t max_json_depth = 256;
/// So many bytes behind a line must be readable: a line feed, and whatever follows it.
inline constexpr std::size_t json_slack = 64;

/// Sets the members of a JSON object as fields: see `json_lines`. `line` must outlive the sample's
/// row, as fields may borrow it. Throws `bad_sample`: corrupt for anything but an object, too_large
/// if it is nested too deeply.
void set_json_fields(std::span<const std::byte> line, sample& into);

} // namespace leat
