#pragma once

#include <string>
#include <string_view>

namespace leat {

/// Letters, digits and `_`, not beginning with a digit.
bool is_word(std::string_view text);

/// The text in quotes, with escapes where needed, as the text form of pipelines has it. Always
/// UTF-8.
std::string in_quotes(std::string_view text);

/// `in_quotes` for errors: cut to its first 40 bytes.
std::string excerpt(std::string_view text);

} // namespace leat
