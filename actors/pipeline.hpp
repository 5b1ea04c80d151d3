#pragma once

#include "actors/batcher.hpp"
#include "actors/caf/actor_host.hpp"
#include "actors/dispatcher.hpp"
#include "actors/prepared_exit.hpp"

#include <caf/actor_system.hpp>

#include <array>

namespace leat {

/// The actors of one loader, in data order.
struct pipeline_actors {
  dispatcher_actor dispatcher;
  batcher_actor batcher;
  /// The batcher first: it takes the dispatcher's end for a failure.
  std::array<prepared_exit, 2> exits = {};
};

/// Spawns and connects dispatcher, workers and batcher. Slots sent to the batcher as `free_atom`
/// come out of `sink` as finished batches, in order.
pipeline_actors spawn_pipeline(caf::actor_system& system, const dispatcher_config& config,
                               batch_sink sink);

/// Spawns the one that saves, in a thread of its own: fsync blocks. Throws `errc::no_resources`.
/// `failed`: see watched_actor.
checkpoint_actor spawn_checkpoint(actor_host& host, failure_handler failed, gate_token alive);

/// Asks all of them to quit. Needs no memory.
void send_exit(pipeline_actors& actors);

} // namespace leat
