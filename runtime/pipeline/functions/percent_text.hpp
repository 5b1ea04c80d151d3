#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leat {

// Any text as one word of a function's parameters, which can hold neither white space nor, as they
// read as lists, commas: these bytes, `%`, other control characters and what is not UTF-8 become
// `%HH`.

std::string percent_text(std::string_view text);

/// The text again; `%HH` may stand for any byte. Nothing if a `%` is not followed by two
/// hexadecimal digits.
std::optional<std::string> text_of_percent(std::string_view word);

} // namespace leat
