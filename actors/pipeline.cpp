#include "actors/pipeline.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <utility>

namespace leat {

pipeline_actors spawn_pipeline(caf::actor_system& system, const dispatcher_config& config,
                               batch_sink sink) {
  const logger_release released;
  pipeline_actors actors;
  // Iterators that read files block.
  actors.dispatcher =
      config.detached && config.threads
          ? spawn_in_thread(system, *config.threads, "iterators", dispatcher, config)
          : system.spawn(dispatcher, config);
  actors.batcher = system.spawn(batcher, actors.dispatcher, std::move(sink), config.alive);
  caf::anon_send(actors.dispatcher, start_atom_v, actors.batcher);
  return actors;
}

checkpoint_actor spawn_checkpoint(actor_host& host, gate_token alive) {
  const logger_release released;
  return spawn_in_thread(host.system(), host.threads(), "save", checkpoint, std::move(alive));
}

void send_exit(pipeline_actors& actors) {
  // The batcher first: workers that end from now on must not be replaced.
  caf::anon_send_exit(actors.batcher, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(actors.dispatcher, caf::exit_reason::user_shutdown);
  actors = {};
}

} // namespace leat
