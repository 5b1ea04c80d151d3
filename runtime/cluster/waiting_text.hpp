#pragma once

#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/processes.hpp"

#include <optional>
#include <string>

namespace leat {

/// "process 4711 of node3", for people.
std::string name_of(const cluster_process& x);

/// "epoch 1 step 20", or "the beginning".
std::string place_text(const std::optional<job_position>& x);

/// What a process that wants a seat waits for; empty if it wants none.
std::string what_it_waits_for(const cluster_process& x, const cluster_processes& processes,
                              const coordinator_state& state);

} // namespace leat
