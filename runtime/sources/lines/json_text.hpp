#pragma once

#include <string>
#include <string_view>

namespace leat {

/// Appends what a string of JSON means, given what stands between its quotes: valid UTF-8 without
/// quotes and control characters but for those that are escaped. False if an escape is none, or
/// half of a surrogate pair is missing; `to` is then undefined.
bool append_json_text(std::string_view escaped, std::string& to);

} // namespace leat
