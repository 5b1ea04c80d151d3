#include "actors/batcher.hpp"

#include <utility>

namespace leat {

batcher_actor::behavior_type batcher(batcher_actor::stateful_pointer<batcher_state> self,
                                     const dispatcher_actor& dispatcher, batch_sink sink,
                                     std::shared_ptr<life_count> lives) {
  self->state.dispatcher = dispatcher;
  self->state.alive = life_token{std::move(lives)};
  self->set_down_handler([self](const caf::down_msg& x) {
    auto found = self->state.workers.find(x.source);
    if (found == self->state.workers.end())
      return;
    const auto worker = found->second;
    self->state.workers.erase(found);
    // Also one that retired: it may have been made the heir of a dead one behind its back.
    self->send(self->state.dispatcher, lost_atom_v, worker);
  });
  auto close_complete = [self, sink = std::move(sink)] {
    while (auto slot = self->state.batches.take_complete()) {
      (*slot)->close();
      sink(std::move(*slot));
    }
  };
  return {
      [self](free_atom, slot_ptr& slot) {
        slot->reserve();
        self->state.batches.begin(slot);
        self->send(self->state.dispatcher, deal_atom_v, std::move(slot));
      },
      [close_complete](complete_atom, const slot_ptr&) { close_complete(); },
      [self](watch_atom, std::uint32_t id, const worker_actor& worker) {
        self->state.workers.emplace(worker.address(), id);
        self->monitor(worker);
      },
      [self, close_complete](inherit_atom, std::uint32_t dead, std::uint32_t heir,
                             const worker_actor& worker) {
        for (auto& work : self->state.batches.lost(dead, heir))
          self->send(worker, std::move(work));
        close_complete();
      },
  };
}

} // namespace leat
