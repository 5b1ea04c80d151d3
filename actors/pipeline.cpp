#include "actors/pipeline.hpp"

#include "actors/checkpoint.hpp"

#include <caf/send.hpp>

#include <utility>

namespace leat {

pipeline_actors spawn_pipeline(caf::actor_system& system, const dispatcher_config& config,
                               batch_sink sink) {
  const logger_release released;
  pipeline_actors actors;
  actors.dispatcher = spawn_watched(system, "dispatcher", config.failed, dispatcher, config);
  actors.batcher = spawn_watched(system, "batcher", config.failed, batcher, actors.dispatcher,
                                 std::move(sink), config.alive);
  actors.exits = {prepared_exit{actors.batcher}, prepared_exit{actors.dispatcher}};
  caf::anon_send(actors.dispatcher, start_atom_v, actors.batcher);
  return actors;
}

checkpoint_actor spawn_checkpoint(actor_host& host, failure_handler failed, gate_token alive) {
  const logger_release released;
  return spawn_in_thread(host.system(), host.threads(), "save", std::move(failed), checkpoint,
                         std::move(alive));
}

void send_exit(pipeline_actors& actors) {
  for (auto& x : actors.exits)
    x.send();
  actors = {};
}

} // namespace leat
