#pragma once

#include "messages/interfaces.hpp"
#include "runtime/ledger.hpp"
#include "runtime/life_count.hpp"

#include <leat/error.hpp>

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace leat {

struct batcher_state {
  static inline const char* name = "batcher";

  batcher_state() = default;

  /// First, so that all else is gone before it.
  life_token alive;

  /// Batches under way, in order.
  ledger batches;
  dispatcher_actor dispatcher;
  /// Set when the dispatcher died: no batch can be finished any more.
  std::optional<error> failure;
  /// Every living worker, by id.
  std::map<caf::actor_addr, std::uint32_t> workers;
};

/// Where finished batches go. Called by the batcher alone, in order; must not block.
using batch_sink = std::function<void(slot_ptr)>;

/// Spawn with `system.spawn(batcher, dispatcher, sink, alive)`. Lives until an exit message. Deals
/// a dead worker's rows again, but only after its down message.
batcher_actor::behavior_type batcher(batcher_actor::stateful_pointer<batcher_state> self,
                                     const dispatcher_actor& dispatcher, const batch_sink& sink,
                                     life_token alive);

} // namespace leat
