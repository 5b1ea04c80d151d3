#pragma once

#include "messages/cluster/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/cluster/set_files.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <optional>

namespace leat {

struct set_store_state {
  static inline const char* name = "set_store";

  std::optional<set_files> files;
};

/// Spawn in a thread of its own: fsync blocks. Ends with the coordinator `answer_to`.
set_store_actor::behavior_type set_store(set_store_actor::stateful_pointer<set_store_state> self,
                                         const set_files_config& files,
                                         const coordinator_actor& answer_to, gate_token alive);

} // namespace leat
