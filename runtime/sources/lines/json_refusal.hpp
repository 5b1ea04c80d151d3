#pragma once

#include <string_view>

namespace leat {

/// Throws the `bad_sample` of a line that is no JSON object: what is wrong with it, where, and, for
/// what other programs write in its place, what to do.
[[noreturn]] void refuse_json(std::string_view line);

} // namespace leat
