#pragma once

#include <leat/tensor.hpp>

#include <string>
#include <string_view>

namespace leat {

/// Reads what `to_string` of a dtype wrote: "f32". Throws `errc::invalid_argument`; `stage` is who
/// asks.
dtype parse_dtype(std::string_view text, const std::string& stage);

} // namespace leat
