#include "actors/cluster/set_store.hpp"

#include "actors/caf/keep_until_end.hpp"

#include <caf/actor_cast.hpp>

#include <utility>

namespace leat {

set_store_actor::behavior_type set_store(set_store_actor::stateful_pointer<set_store_state> self,
                                         const set_files_config& files,
                                         const coordinator_actor& answer_to, gate_token alive) {
  self->state.files.emplace(files);
  keep_until_end(self, std::move(alive));
  self->monitor(answer_to);
  self->set_down_handler([self](const caf::down_msg&) { self->quit(); });
  return {
      [self, to = caf::actor_cast<caf::actor_addr>(answer_to)](const set_command& x) {
        const auto answer = self->state.files->run(x);
        if (!answer)
          return;
        if (const auto coordinator = caf::actor_cast<coordinator_actor>(to))
          self->send(coordinator, stored_atom_v, answer->at.epoch, answer->at.step,
                     answer->why_not);
      },
  };
}

} // namespace leat
