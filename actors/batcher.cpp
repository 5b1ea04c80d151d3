#include "actors/batcher.hpp"

#include <utility>

namespace leat {

batcher_actor::behavior_type batcher(batcher_actor::stateful_pointer<batcher_state> self,
                                     const dispatcher_actor& dispatcher, const batch_sink& sink,
                                     life_token alive) {
  self->state.dispatcher = dispatcher;
  self->state.alive = std::move(alive);
  self->monitor(dispatcher);
  // The trainer must hear of it at its next batch, whatever was under way.
  auto fail = [self, sink] {
    while (auto slot = self->state.batches.take_oldest()) {
      (*slot)->fail(*self->state.failure);
      sink(std::move(*slot));
    }
  };
  self->set_down_handler([self, fail](const caf::down_msg& x) {
    if (x.source == self->state.dispatcher.address()) {
      self->state.failure =
          error(errc::worker_lost, {.stage = "dispatcher", .got = self->system().render(x.reason)});
      return fail();
    }
    auto found = self->state.workers.find(x.source);
    if (found == self->state.workers.end())
      return;
    const auto worker = found->second;
    self->state.workers.erase(found);
    // Also one that retired: it may have been made the heir of a dead one behind its back.
    self->send(self->state.dispatcher, lost_atom_v, worker);
  });
  auto return_probes = [self] {
    for (auto& slot : self->state.batches.take_probes())
      self->send(self->state.dispatcher, probe_atom_v, std::move(slot));
  };
  auto close_complete = [self, sink] {
    while (auto slot = self->state.batches.take_complete()) {
      (*slot)->close();
      sink(std::move(*slot));
    }
  };
  return {
      [self, fail](free_atom, slot_ptr& slot) {
        slot->reserve();
        self->state.batches.begin(slot);
        if (self->state.failure)
          return fail();
        self->send(self->state.dispatcher, deal_atom_v, std::move(slot));
      },
      [close_complete, return_probes](complete_atom, const slot_ptr&) {
        return_probes();
        close_complete();
      },
      [self](probe_atom, slot_ptr& slot) { self->state.batches.begin_probe(std::move(slot)); },
      [self](watch_atom, std::uint32_t id, const worker_actor& worker) {
        self->state.workers.emplace(worker.address(), id);
        self->monitor(worker);
      },
      [self, close_complete, return_probes](inherit_atom, std::uint32_t dead, std::uint32_t heir,
                                            const worker_actor& worker) {
        for (auto& work : self->state.batches.lost(dead, heir))
          self->send(worker, std::move(work));
        return_probes();
        close_complete();
      },
  };
}

} // namespace leat
