#pragma once

#include "messages/interfaces.hpp"
#include "runtime/ledger.hpp"
#include "runtime/life_count.hpp"

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

  /// First, so that all else is gone before it.
  life_token alive;

  /// Batches under way, in order.
  ledger batches;
  dispatcher_actor dispatcher;
  /// Every living worker, by id.
  std::map<caf::actor_addr, std::uint32_t> workers;
};

/// Where finished batches go. Called by the batcher alone, in order; must not block.
using batch_sink = std::function<void(slot_ptr)>;

/// Spawn with `system.spawn(batcher, dispatcher, sink, lives)`. Lives until an exit message. Deals
/// a dead worker's rows again, but only after its down message.
batcher_actor::behavior_type batcher(batcher_actor::stateful_pointer<batcher_state> self,
                                     const dispatcher_actor& dispatcher, batch_sink sink,
                                     std::shared_ptr<life_count> lives);

} // namespace leat
