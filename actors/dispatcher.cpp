#include "actors/dispatcher.hpp"

#include <caf/spawn_options.hpp>

#include <exception>
#include <utility>

namespace leat {

namespace {

using dispatcher_ptr = dispatcher_actor::stateful_pointer<dispatcher_state>;

/// Spawns worker number n and tells the batcher before anything is dealt to it.
dispatcher_state::member spawn_worker(dispatcher_ptr self, const dispatcher_config& config,
                                      std::size_t number, bool replaces) {
  auto needs = config.make_worker(number, replaces);
  const auto id = needs.record->id;
  auto handle = config.detached_workers
                    ? self->spawn<caf::detached>(worker, std::move(needs), self->state.batcher)
                    : self->spawn(worker, std::move(needs), self->state.batcher);
  self->send(self->state.batcher, watch_atom_v, id, handle);
  return {id, handle};
}

void resize(dispatcher_ptr self, const dispatcher_config& config, std::size_t n) {
  auto& workers = self->state.workers;
  while (workers.size() < n)
    workers.push_back(spawn_worker(self, config, workers.size(), false));
  while (workers.size() > n) {
    self->send(workers.back().handle, retire_atom_v);
    workers.pop_back();
  }
}

void deal(dispatcher_ptr self, const slot_ptr& slot) {
  auto& state = self->state;
  try {
    state.order->open(*slot);
  } catch (const std::exception& problem) {
    slot->what = batch_slot::kind::failed;
    slot->failure = error(errc::io, {.stage = "dispatcher", .got = problem.what()});
    slot->open(0);
  }
  if (slot->num_rows == 0) {
    self->send(state.batcher, complete_atom_v, slot);
    return;
  }
  auto chunks = state.order->deal(slot, state.ids());
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (chunks[i].claims || !chunks[i].rows.empty())
      self->send(state.workers[i].handle, std::move(chunks[i]));
}

} // namespace

std::optional<std::size_t> dispatcher_state::find(std::uint32_t id) const noexcept {
  for (std::size_t i = 0; i < workers.size(); ++i)
    if (workers[i].id == id)
      return i;
  return std::nullopt;
}

std::vector<std::uint32_t> dispatcher_state::ids() const {
  std::vector<std::uint32_t> result;
  for (const auto& x : workers)
    result.push_back(x.id);
  return result;
}

dispatcher_actor::behavior_type dispatcher(dispatcher_ptr self, const dispatcher_config& config) {
  self->state.order.emplace(config.order);
  self->state.alive = config.alive;
  self->set_exit_handler([self](const caf::exit_msg& x) {
    for (auto& member : self->state.workers)
      self->send_exit(member.handle, x.reason);
    self->quit(x.reason);
  });
  return {
      [self, config](start_atom, const batcher_actor& batcher) {
        self->state.batcher = batcher;
        resize(self, config, config.workers);
      },
      [self](deal_atom, const slot_ptr& slot) { deal(self, slot); },
      [self, config](lost_atom, std::uint32_t dead) {
        auto& workers = self->state.workers;
        // A worker that was retired has no place to fill: any other inherits.
        const auto at = self->state.find(dead);
        if (at)
          workers[*at] = spawn_worker(self, config, *at, true);
        const auto& heir = workers[at.value_or(0)];
        self->send(self->state.batcher, inherit_atom_v, dead, heir.id, heir.handle);
      },
      [self, config](resize_atom, std::uint64_t n) { resize(self, config, n); },
  };
}

} // namespace leat
