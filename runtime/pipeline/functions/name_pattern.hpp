#pragma once

#include <string_view>

namespace leat {

/// Whether a whole text matches a pattern, byte by byte. `*` stands for any number of any bytes,
/// `/` included; `?` for one; `[ab0-9]` for one of these and `[!ab0-9]` for one that is not among
/// these (a `]` in first place stands for itself); everything else, also a `[` without its `]`, for
/// itself. Unlike in fnmatch, no locale matters. Takes at most about pattern times text steps.
bool name_matches(std::string_view pattern, std::string_view text);

} // namespace leat
