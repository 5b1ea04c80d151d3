#pragma once

#include <leat/cluster_report.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace leat::command {

/// What `leat cluster status` prints, line by line.
std::vector<std::string> status_lines(const cluster_report& x);

/// How many threads of helpers the ranks could use in all, so that no trainer waits; those that are
/// there count.
std::uint64_t helper_cores_wanted(const cluster_report& x);

/// The object of `leat cluster status --json` (docs/command.md).
nlohmann::json status_to_json(const cluster_report& x);

/// The report without values that change between two looks even if nothing has happened.
cluster_report without_clocks(cluster_report x);

} // namespace leat::command
