#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/row_worker.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace leat {

struct worker_state {
  static inline const char* name = "worker";

  row_worker rows;
  batcher_actor batcher;
};

/// Everything that a new worker needs.
struct worker_config {
  std::shared_ptr<const job_plan> plan;
  std::shared_ptr<worker_record> record;
  worker_drill drill;
  gate_token alive;
};

/// Spawn detached: functions block. Lives until `retire_atom`, an exit message, or a death on
/// purpose.
worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self,
                                   const worker_config& config, const batcher_actor& batcher);

} // namespace leat
