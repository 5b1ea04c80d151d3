#include "actors/batcher.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "actors/caf/state_call.hpp"

#include <utility>

namespace leat {

void batcher_state::begin(const dispatcher_actor& dispatcher, const batch_sink& sink) {
  dispatcher_ = dispatcher;
  sink_ = sink;
  self_->monitor(dispatcher);
}

void batcher_state::reserve(slot_ptr slot) {
  if (has_failed())
    return sink_(failed_);
  slot->reserve();
  batches_.push_back(slot);
  self_->send(dispatcher_, deal_atom_v, std::move(slot));
}

void batcher_state::close() {
  while (!batches_.empty() && batches_.front()->complete()) {
    batches_.front()->close();
    auto slot = std::move(batches_.front());
    batches_.pop_front();
    sink_(std::move(slot));
  }
}

/// The trainer must get the failure with its next batch, whatever was in flight.
void batcher_state::fail(error problem) {
  if (!has_failed()) {
    failed_->fail(std::move(problem));
    if (batches_.empty()) // in place of the batch that could not begin
      sink_(failed_);
  }
  for (; !batches_.empty(); batches_.pop_front())
    sink_(failed_);
}

void batcher_state::down(const caf::down_msg& x) {
  fail({errc::worker_lost, {.stage = "dispatcher", .got = self_->system().render(x.reason)}});
}

batcher_actor::behavior_type batcher(batcher_state::pointer self,
                                     const dispatcher_actor& dispatcher, const batch_sink& sink,
                                     gate_token alive) {
  keep_until_end(self, std::move(alive));
  self->state.begin(dispatcher, sink);
  self->set_down_handler(
      [self](const caf::down_msg& x) { state_call(self, &batcher_state::down, x); });
  return {
      [self](free_atom, slot_ptr& x) { state_call(self, &batcher_state::reserve, std::move(x)); },
      [self](complete_atom) { state_call(self, &batcher_state::close); },
      [self](fail_atom, const error_ptr& x) { state_call(self, &batcher_state::fail, *x); },
  };
}

} // namespace leat
