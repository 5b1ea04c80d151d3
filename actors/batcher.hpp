#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/in_flight.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace leat {

struct batcher_state {
  static inline const char* name = "batcher";

  batcher_state() = default;

  /// Batches in flight, in order.
  in_flight batches;
  dispatcher_actor dispatcher;
  /// Takes the place of every batch once there is a failure: none can be finished any more. Made in
  /// advance, so that reporting a failure takes no memory; it is not the slot of any batch, as
  /// workers may still write into those.
  slot_ptr failed = std::make_shared<batch_slot>(std::make_shared<const batch_layout>(), 0);
  bool has_failed() const noexcept { return failed->plan().what == batch_plan::kind::failed; }
  /// Every living worker, by id.
  std::map<caf::actor_addr, std::uint32_t> workers;
};

/// Takes finished batches. Called only by the batcher, in order; must not block.
using batch_sink = std::function<void(slot_ptr)>;

/// Spawn with `system.spawn(batcher, dispatcher, sink, alive)`. Lives until an exit message. Deals
/// a dead worker's rows again, but only after its down message.
batcher_actor::behavior_type batcher(batcher_actor::stateful_pointer<batcher_state> self,
                                     const dispatcher_actor& dispatcher, const batch_sink& sink,
                                     gate_token alive);

} // namespace leat
