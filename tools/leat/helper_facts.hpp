#pragma once

#include <leat/loader.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace leat::command {

/// Adds what helpers did for another rank.
void add_helped(const std::optional<helper_stats>& x, std::optional<helper_stats>& to);

/// Null without helpers.
nlohmann::json helped_to_json(const std::optional<helper_stats>& x);

/// "made 75.0% of the rows: 3,000 of 3,010 lent, 8 dealt again, 2 declined, 4.5 MB received"
std::string helped_text(const helper_stats& x, std::uint64_t samples);

} // namespace leat::command
