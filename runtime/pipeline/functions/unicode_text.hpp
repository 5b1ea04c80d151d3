#pragma once

#include <leat/functions.hpp>

#include <string>
#include <string_view>

namespace leat {

/// The text in a normalization form of Unicode. Bytes that are not UTF-8 stay, and what lies
/// between them is normalized by itself. Throws `bad_sample` (too_large) for more than 1,000
/// combining characters in a row; `std::bad_alloc`.
std::string normal_form(std::string_view text, unicode_form form);

} // namespace leat
