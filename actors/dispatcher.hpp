#pragma once

#include "actors/worker.hpp"
#include "messages/interfaces.hpp"
#include "runtime/dealer.hpp"
#include "runtime/life_count.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

struct dispatcher_state {
  static inline const char* name = "dispatcher";

  dispatcher_state() = default;

  /// First, so that all else is gone before it.
  life_token alive;

  struct member {
    std::uint32_t id;
    worker_actor handle;
  };

  /// Index of a worker by id, if it is dealt to.
  std::optional<std::size_t> find(std::uint32_t id) const noexcept;
  std::vector<std::uint32_t> ids() const;

  std::optional<dealer> order;
  /// By worker number.
  std::vector<member> workers;
  batcher_actor batcher;
};

struct dispatcher_config {
  dealer order;
  std::size_t workers = 1;
  /// Makes what worker number n needs; `replaces`: its predecessor died.
  std::function<worker_config(std::size_t number, bool replaces)> make_worker;
  /// Workers get threads of their own. False only under a deterministic scheduler.
  bool detached_workers = true;
  life_token alive;
};

/// Spawn with `system.spawn(dispatcher, config)`, then send `start_atom`. Lives until an exit
/// message, and takes its workers with it.
dispatcher_actor::behavior_type
dispatcher(dispatcher_actor::stateful_pointer<dispatcher_state> self,
           const dispatcher_config& config);

} // namespace leat
