#pragma once

#include <string_view>

namespace leat {

/// Whether a whole text matches a pattern, byte by byte. `*` stands for any bytes, `/` too, none
/// included; `?` for one; `[ab0-9]` for one of these and `[!ab0-9]` for one that is none of these
/// (a `]` as the first stands for itself); all else, a `[` without its `]` too, for itself. Unlike
/// fnmatch's no locale matters. Takes at most about pattern times text steps.
bool matches(std::string_view pattern, std::string_view text);

} // namespace leat
