#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace leat {

/// L of a batch: what the user said, or the default (docs/pipelines.md). May open data.
std::uint64_t lanes_of(const operator_node& batch);

/// A batch has as many lanes as its smallest source that is read in sequence has files, or parts of
/// files, unless it says `lanes`: and only world sizes that divide them are possible. Where one
/// source takes lanes away that the others would allow, or leaves one lane alone, this says so,
/// with the source and what to write. Opens the data. Nothing for pipelines whose order is a
/// formula: their ranks share no lane.
std::optional<std::string> lane_limit(const operator_node& batch);

} // namespace leat
