#include "actors/worker.hpp"

#include "actors/caf/keep_until_end.hpp"

#include <caf/sec.hpp>

#include <string>
#include <utility>

namespace leat {

void worker_state::begin(const worker_config& config, const batcher_actor& batcher,
                         const dispatcher_actor& dispatcher) {
  rows_.plan = config.plan;
  rows_.record = config.record;
  rows_.function.emplace(config.plan, config.record);
  rows_.drill = config.drill;
  rows_.decode_on(config.device);
  batcher_ = batcher;
  dispatcher_ = dispatcher;
}

void worker_state::run(const chunk& work) {
  switch (rows_.run(work)) {
  case row_worker::verdict::dead:
    self_->quit(caf::make_error(caf::sec::runtime_error, std::string{"died on purpose"}));
    break;
  case row_worker::verdict::complete:
    if (work.is_batch)
      self_->send(batcher_, complete_atom_v);
    else
      self_->send(dispatcher_, complete_atom_v);
    break;
  case row_worker::verdict::going_on:
  case row_worker::verdict::cancelled:
    break;
  }
  tell_batcher();
  if (rows_.has_waiting() && !std::exchange(will_settle_, true))
    self_->send(self_, settle_atom_v); // after the chunks that are here already
}

void worker_state::settle() {
  will_settle_ = false;
  rows_.settle();
  tell_batcher();
}

/// Rows of earlier chunks may have been the last ones of their batches.
void worker_state::tell_batcher() {
  if (rows_.take_completed())
    self_->send(batcher_, complete_atom_v);
}

worker_actor::behavior_type worker(worker_state::pointer self, const worker_config& config,
                                   const batcher_actor& batcher,
                                   const dispatcher_actor& dispatcher) {
  keep_until_end(self, config.alive);
  self->state.begin(config, batcher, dispatcher);
  return {
      // A message outlives the actor that ends while it handles it: the work is moved out of it.
      [self](chunk& x) { self->state.run(std::exchange(x, {})); },
      [self](settle_atom) { self->state.settle(); },
      [self](retire_atom) {
        self->state.settle();
        self->quit();
      },
  };
}

} // namespace leat
