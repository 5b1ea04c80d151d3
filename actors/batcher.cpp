#include "actors/batcher.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "runtime/base/error_in_flight.hpp"

#include <utility>

namespace leat {

namespace {

using batcher_ptr = batcher_actor::stateful_pointer<batcher_state>;

/// The trainer must get the failure with its next batch, whatever was in flight.
void fail_all(batcher_ptr self, const batch_sink& sink) {
  while (self->state.batches.take_oldest())
    sink(self->state.failed);
}

void fail(batcher_ptr self, const batch_sink& sink, error problem) {
  if (!self->state.has_failed()) {
    self->state.failed->fail(std::move(problem));
    if (self->state.batches.size() == 0) // in place of the batch that could not begin
      sink(self->state.failed);
  }
  fail_all(self, sink);
}

/// Runs a handler. An exception becomes the loader's error; if it killed the actor, its text would
/// be lost.
template <class Handler>
void guarded(batcher_ptr self, const batch_sink& sink, Handler handler) {
  try {
    handler();
  } catch (...) {
    fail(self, sink, error_in_flight(errc::io, {.stage = "batcher"}));
  }
}

} // namespace

batcher_actor::behavior_type batcher(batcher_actor::stateful_pointer<batcher_state> self,
                                     const dispatcher_actor& dispatcher, const batch_sink& sink,
                                     gate_token alive) {
  self->state.dispatcher = dispatcher;
  keep_until_end(self, std::move(alive));
  self->monitor(dispatcher);
  self->set_down_handler([self, sink](const caf::down_msg& x) {
    guarded(self, sink, [&] {
      if (x.source == self->state.dispatcher.address())
        throw error(errc::worker_lost,
                    {.stage = "dispatcher", .got = self->system().render(x.reason)});
      auto found = self->state.workers.find(x.source);
      if (found == self->state.workers.end())
        return;
      const auto worker = found->second;
      self->state.workers.erase(found);
      // Also for a retired one: unknown to itself, it may have been made the heir of a dead worker.
      self->send(self->state.dispatcher, lost_atom_v, worker);
    });
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
      [self, sink](free_atom, slot_ptr& slot) {
        guarded(self, sink, [&] {
          if (self->state.has_failed())
            return sink(self->state.failed);
          slot->reserve();
          self->state.batches.begin(slot);
          self->send(self->state.dispatcher, deal_atom_v, std::move(slot));
        });
      },
      [self, sink, close_complete, return_probes](complete_atom, const slot_ptr&) {
        guarded(self, sink, [&] {
          return_probes();
          close_complete();
        });
      },
      [self, sink](probe_atom, slot_ptr& slot) {
        guarded(self, sink, [&] { self->state.batches.begin_probe(std::move(slot)); });
      },
      [self, sink](watch_atom, std::uint32_t id, const worker_actor& worker) {
        guarded(self, sink, [&] {
          self->state.workers.emplace(worker.address(), id);
          self->monitor(worker);
        });
      },
      [self, sink, close_complete, return_probes](inherit_atom, std::uint32_t dead,
                                                  std::uint32_t heir, const worker_actor& worker) {
        guarded(self, sink, [&] {
          for (auto& work : self->state.batches.lost(dead, heir))
            self->send(worker, std::move(work));
          return_probes();
          close_complete();
        });
      },
      [self, sink](fail_atom, const error_ptr& problem) {
        guarded(self, sink, [&] { fail(self, sink, *problem); });
      },
  };
}

} // namespace leat
