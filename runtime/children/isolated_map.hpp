#pragma once

#include <leat/pipeline.hpp>

#include <vector>

namespace leat {

/// The map, whose functions call it in child processes. Throws `errc::invalid_argument` for one
/// that no child would know.
map_stage isolated(map_stage x);

/// What `run_worker` does with a program's arguments. Does not return in a child.
void run_if_child(int argc, char** argv, std::vector<map_stage> maps);

} // namespace leat
