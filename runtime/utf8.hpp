#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leat {

/// Bytes of the character that `text`, not empty, begins with; 0 where it is no UTF-8.
std::size_t utf8_length(std::string_view text);

/// Appends a name as UTF-8: bytes that are not, and backslashes before an x, become `\xHH` (two
/// upper-case digits). Different names stay different; valid ones without a `\x` stay as they are.
void append_utf8(std::string_view name, std::string& to);

} // namespace leat
