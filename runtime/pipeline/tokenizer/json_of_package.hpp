#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace leat {

/// A tokenizer.json, its numbers as the package tokenizers reads them, or the nearest ones;
/// discarded if it is damaged. Throws `std::invalid_argument` for lists that are nested too deep.
nlohmann::json json_of_package(const std::string& text, bool has_nearest_numbers);

} // namespace leat
