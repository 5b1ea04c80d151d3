#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/row_worker.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace leat {

/// Everything that a new worker needs.
struct worker_config {
  std::shared_ptr<const job_plan> plan;
  std::shared_ptr<worker_record> record;
  worker_drill drill;
  gate_token alive;
  /// Null: images are decoded here.
  std::shared_ptr<device_decoding> device = {};
};

/// What a worker does for each message.
class worker_state {
public:
  static inline const char* name = "worker";
  using pointer = worker_actor::stateful_pointer<worker_state>;

  explicit worker_state(pointer self) noexcept : self_(self) {}

  void begin(const worker_config& config, const batcher_actor& batcher,
             const dispatcher_actor& dispatcher);
  void run(const chunk& work);
  /// Waits for the rows that a device decodes.
  void settle();

private:
  void tell_batcher();

  pointer self_;
  row_worker rows_;
  batcher_actor batcher_;
  dispatcher_actor dispatcher_;
  /// A message to itself is under way.
  bool will_settle_ = false;
};

/// Spawn detached: functions block. Lives until `retire_atom`, an exit message, or a death on
/// purpose.
worker_actor::behavior_type worker(worker_state::pointer self, const worker_config& config,
                                   const batcher_actor& batcher,
                                   const dispatcher_actor& dispatcher);

} // namespace leat
