#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace leat {

/// Writes what a string of JSON means, given what stands between its quotes: valid UTF-8 without
/// quotes and control characters but for those that are escaped. `to` has room for as many bytes as
/// are given, all of which may be written. Returns how many it takes; nothing if an escape is none,
/// or half of a surrogate pair is missing.
std::optional<std::size_t> unescape_json_text(std::string_view escaped, char* to) noexcept;

} // namespace leat
