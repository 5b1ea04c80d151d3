#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace leat {

/// L of a batch: as the user said, or the default (docs/pipelines.md). May open data.
std::uint64_t lanes_of(const operator_node& batch);

/// Unless a batch says `lanes`, it has as many lanes as its smallest source that is read in
/// sequence has files, or parts of files, and only world sizes that divide the lanes are possible.
/// If one source leaves fewer lanes than the others would allow, or only one lane, this says so,
/// with the source and what to write. Opens the data. Nothing for indexed pipelines: their ranks
/// share no lane.
std::optional<std::string> lane_limit(const operator_node& batch);

} // namespace leat
