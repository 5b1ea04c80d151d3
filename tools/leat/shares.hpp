#pragma once

#include <leat/loader.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace leat::command {

/// What the inputs of mixes gave, summed over these ranks of a job.
std::vector<mix_counts> mixes_of(const std::vector<loader_stats>& ranks);

/// "shares 66.7%, 33.3%" for the inputs of the last mix, in the order of its arguments. Empty if
/// nothing was given, or if the line would be too long.
std::string shares_text(const std::vector<mix_counts>& mixes);

/// A line per input: "mix         web/*.jsonl: 66.7% of tokens, weight 66.7%; 12 samples, 345
/// tokens". The text after the label begins in column `width`.
std::vector<std::string> share_lines(const std::vector<mix_counts>& mixes, std::size_t width);

nlohmann::json mixes_to_json(const std::vector<mix_counts>& mixes);

} // namespace leat::command
