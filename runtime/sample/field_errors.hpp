#pragma once

#include "runtime/sample/batch_layout.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// How to set a field that some samples lack.
std::string how_to_set(std::string_view field);

/// For a field that is not among those that the sample has.
std::string missing_text(std::string_view field, const std::vector<std::string>& have);

/// For a field that is not what the batch has, and what to do where only the type differs: about a
/// column of `1` and `0.5`.
std::string other_layout_text(const field_layout& have, const field_layout& want);

} // namespace leat
