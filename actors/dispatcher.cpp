#include "actors/dispatcher.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/sample/live_source.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <memory>
#include <string>
#include <utility>

namespace leat {

namespace {

using dispatcher_ptr = dispatcher_actor::stateful_pointer<dispatcher_state>;

/// Spawns worker number n and tells the batcher before anything is dealt to it.
dispatcher_state::member spawn_worker(dispatcher_ptr self, const dispatcher_config& config,
                                      std::size_t number, bool replaces) {
  auto needs = config.make_worker(number, replaces);
  const auto id = needs.record->id;
  const auto name = "worker " + std::to_string(number);
  const worker_actor handle =
      config.threads
          ? spawn_in(own_thread::begin(self->system(), *config.threads, name, others_run::here),
                     name, config.failed, worker, std::move(needs), self->state.batcher)
          : spawn_watched(self->system(), name, config.failed, worker, std::move(needs),
                          self->state.batcher);
  self->send(self->state.batcher, watch_atom_v, id, handle);
  return {id, handle, prepared_exit{handle}};
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

void send_rows(dispatcher_ptr self, const slot_ptr& slot) {
  auto& state = self->state;
  auto chunks = state.policy->deal(slot, state.ids());
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (chunks[i].claims || !chunks[i].rows.empty())
      self->send(state.workers[i].handle, std::move(chunks[i]));
}

/// Opens the slot as the next batch. False if iterators do not know it yet.
bool open_batch(dispatcher_ptr self, const slot_ptr& slot) {
  auto& state = self->state;
  auto& next = state.next;
  try {
    if (!state.order->open(next))
      return false;
  } catch (...) {
    next.plan = failed_batch(error_in_flight(errc::io, {.stage = "dispatcher"}));
    next.rows = 0;
  }
  const bool is_empty = next.rows == 0;
  slot->open(next, state.policy->claims());
  if (is_empty)
    self->send(state.batcher, complete_atom_v, slot);
  else
    state.opened.push_back(slot);
  return true;
}

/// Deals what is no batch, and comes back. `free`: slots for it.
void send_aside(dispatcher_ptr self, std::vector<slot_ptr>& free, planned_batch& rows) {
  auto slot = std::move(free.back());
  free.pop_back();
  slot->open(rows, self->state.policy->claims());
  // Sent before any worker can tell the batcher that it is done.
  self->send(self->state.batcher, probe_atom_v, slot);
  send_rows(self, slot);
}

void have_slot(std::vector<slot_ptr>& free, std::size_t rows) {
  if (free.empty())
    free.push_back(std::make_shared<batch_slot>(std::make_shared<batch_layout>(), rows));
}

/// False if no item waits to be probed.
bool deal_probe(dispatcher_ptr self) {
  auto& state = self->state;
  have_slot(state.free_probes, state.rows_a_probe);
  if (!state.order->open_probe(state.next, state.rows_a_probe))
    return false;
  send_aside(self, state.free_probes, state.next);
  return true;
}

/// Has workers run the lanes that are to run.
void deal_turns(dispatcher_ptr self) {
  auto& state = self->state;
  have_slot(state.turns.free, state.turns.lanes);
  if (state.order->open_turns(state.turns.rows, state.workers.size()))
    send_aside(self, state.turns.free, state.turns.rows);
}

/// Deals everything that is known.
void work(dispatcher_ptr self) {
  auto& state = self->state;
  const auto begin = state.metrics ? steady_ns() : 0;
  while (!state.waiting.empty() && open_batch(self, state.waiting.front()))
    state.waiting.pop_front();
  // Lanes before the rows of the last batches: more are known before the workers are done with
  // these. But after those of the first, which do not have to wait for what a lane waits for.
  for (std::size_t i = 0; i < state.opened.size(); ++i) {
    send_rows(self, state.opened[i]);
    if (i == 0)
      deal_turns(self);
  }
  if (state.opened.empty())
    deal_turns(self);
  state.opened.clear();
  while (deal_probe(self))
    ;
  if (!state.waiting.empty() && state.order->wants_to_run())
    self->send(self, run_atom_v);
  if (state.metrics)
    state.metrics->dealt(begin, steady_ns());
}

/// Fills the place of a worker that is gone, and names its heir.
void replace(dispatcher_ptr self, const dispatcher_config& config, std::uint32_t dead) {
  auto& workers = self->state.workers;
  // A worker that was retired leaves no place to fill: any other worker inherits.
  const auto at = self->state.find(dead);
  if (at)
    workers[*at] = spawn_worker(self, config, *at, true);
  const auto& heir = workers[at.value_or(0)];
  self->send(self->state.batcher, inherit_atom_v, dead, heir.id, heir.handle);
}

void listen_to_feeds(dispatcher_ptr self, const dispatcher_config& config) {
  auto& state = self->state;
  const auto handle = caf::actor_cast<dispatcher_actor>(self);
  for (const auto& x : config.feeds)
    state.hang_up.push_back(
        x->on_change([handle, is_called = state.is_called, failed = config.failed] {
          try {
            if (!is_called->exchange(true))
              caf::anon_send(handle, run_atom_v);
          } catch (...) { // in the feed's thread, which cannot do anything about it
            if (failed)
              failed(error_in_flight(errc::io, {.stage = "iterators"}));
          }
        }));
}

/// Runs a handler. An exception becomes the loader's error; if it killed the actor, its text would
/// be lost.
template <class Handler>
void guarded(dispatcher_ptr self, Handler handler) {
  auto& state = self->state;
  if (state.has_failed)
    return;
  try {
    handler();
  } catch (...) {
    state.has_failed = true;
    self->send(state.batcher, fail_atom_v,
               std::make_shared<const error>(error_in_flight(errc::io, {.stage = "dispatcher"})));
  }
}

} // namespace

dispatcher_state::~dispatcher_state() {
  for (const auto& x : hang_up)
    x();
}

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
  self->state.order = config.order;
  self->state.policy.emplace(config.policy);
  self->state.rows_a_probe = config.rows_a_probe;
  self->state.turns.lanes = config.lanes;
  keep_until_end(self, config.alive);
  self->state.metrics = config.metrics;
  self->set_exit_handler([self](const caf::exit_msg& x) {
    for (auto& member : self->state.workers)
      member.exit.send();
    // They hold a reference to this actor.
    for (const auto& hang_up : std::exchange(self->state.hang_up, {}))
      hang_up();
    self->quit(x.reason);
  });
  return {
      [self, config](start_atom, const batcher_actor& batcher) {
        self->state.batcher = batcher;
        guarded(self, [&] {
          resize(self, config, config.workers);
          listen_to_feeds(self, config);
        });
      },
      [self](deal_atom, const slot_ptr& slot) {
        guarded(self, [&] {
          self->state.waiting.push_back(slot);
          work(self);
        });
      },
      [self](probe_atom, const slot_ptr& slot) {
        guarded(self, [&] {
          auto& state = self->state;
          const bool is_turns = slot->holds_turns();
          is_turns ? state.order->close_turns(*slot) : state.order->close_probe(*slot);
          slot->release();
          // Of turns one is kept: its rows name lanes, which after a rewind nobody else has.
          if (!is_turns || state.turns.free.empty())
            (is_turns ? state.turns.free : state.free_probes).push_back(slot);
          work(self);
        });
      },
      [self](run_atom) {
        self->state.is_called->store(false);
        guarded(self, [&] {
          self->state.order->wake();
          work(self);
        });
      },
      [self](epoch_atom, std::uint64_t epoch) {
        guarded(self, [&] {
          self->state.order->begin_epoch(epoch);
          work(self);
        });
      },
      [self](rewind_atom, std::uint64_t run) {
        guarded(self, [&] {
          self->state.order->rewind(run);
          work(self);
        });
      },
      [self, config](lost_atom, std::uint32_t dead) {
        guarded(self, [&] { replace(self, config, dead); });
      },
      [self, config](resize_atom, std::uint64_t n) {
        guarded(self, [&] { resize(self, config, n); });
      },
  };
}

} // namespace leat
