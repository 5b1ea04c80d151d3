#include "actors/dispatcher.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "actors/caf/state_call.hpp"
#include "runtime/base/error_in_flight.hpp"

#include <caf/actor_cast.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace leat {

dispatcher_state::member dispatcher_state::spawn_worker(std::size_t number, bool replaces) {
  auto needs = config_->make_worker(number, replaces);
  const auto id = needs.record->id;
  const auto stage = "worker " + std::to_string(number);
  const auto self = caf::actor_cast<dispatcher_actor>(self_);
  const worker_actor handle =
      config_->threads
          ? spawn_in(own_thread::begin(self_->system(), *config_->threads, stage, others_run::here),
                     stage, config_->failed, worker, std::move(needs), batcher_, self)
          : spawn_watched(self_->system(), stage, config_->failed, worker, std::move(needs),
                          batcher_, self);
  self_->monitor(handle);
  return {id, handle, prepared_exit{handle}};
}

void dispatcher_state::start(const batcher_actor& batcher) {
  batcher_ = batcher;
  resize(config_->workers);
  feeds_.begin(config_->feeds, caf::actor_cast<dispatcher_actor>(self_), config_->failed);
}

void dispatcher_state::resize(std::uint64_t n) {
  while (workers_.size() < n)
    workers_.push_back(spawn_worker(workers_.size(), false));
  while (workers_.size() > n) {
    self_->send(workers_.back().handle, retire_atom_v);
    retired_.push_back(std::move(workers_.back()));
    workers_.pop_back();
  }
}

void dispatcher_state::send_rows(const slot_ptr& slot) {
  in_flight_.begin(slot);
  std::vector<std::uint32_t> ids;
  for (const auto& x : workers_)
    ids.push_back(x.id);
  auto chunks = config_->policy.deal(slot, ids);
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (chunks[i].claims || !chunks[i].rows.empty())
      self_->send(workers_[i].handle, std::move(chunks[i]));
  if (config_->lender && slot->is_claimable() && !slot->holds_turns())
    config_->lender->opened(slot);
}

void dispatcher_state::deal_lent(const chunk& rows) {
  for (const auto& x : workers_)
    self_->send<caf::message_priority::high>(x.handle, rows);
}

/// Opens the slot as the next batch. False if iterators do not know it yet.
bool dispatcher_state::open_batch(const slot_ptr& slot) {
  try {
    if (!config_->order->open(next_))
      return false;
  } catch (...) {
    next_.plan = failed_batch(error_in_flight(errc::io, {.stage = name}));
    next_.rows = 0;
  }
  const bool is_empty = next_.rows == 0;
  slot->open(next_, config_->policy.claims());
  if (is_empty)
    self_->send(batcher_, complete_atom_v);
  else
    opened_.push_back(slot);
  return true;
}

/// Has workers probe items, or run the lanes that are to run. False if there is nothing to do.
bool dispatcher_state::deal_aside(aside& from) {
  const bool is_turns = &from == &turns_;
  const auto rows = is_turns ? config_->lanes : config_->rows_a_probe;
  auto& order = *config_->order;
  if (is_turns ? !order.open_turns(from.next, workers_.size()) : !order.open_probe(from.next, rows))
    return false;
  if (from.free.empty())
    from.free.push_back(std::make_shared<batch_slot>(std::make_shared<batch_layout>(), rows));
  const auto slot = std::move(from.free.back());
  from.free.pop_back();
  slot->open(from.next, config_->policy.claims());
  send_rows(slot);
  return true;
}

void dispatcher_state::work() {
  const auto begin = config_->metrics ? steady_ns() : 0;
  while (!waiting_.empty() && open_batch(waiting_.front()))
    waiting_.pop_front();
  // Lanes before the rows of the last batches: more are known before the workers are done with
  // these. But after those of the first, which do not have to wait for what a lane waits for.
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    send_rows(opened_[i]);
    if (i == 0)
      deal_aside(turns_);
  }
  if (opened_.empty())
    deal_aside(turns_);
  opened_.clear();
  while (deal_aside(probes_))
    ;
  if (config_->metrics)
    config_->metrics->dealt(begin, steady_ns());
}

void dispatcher_state::deal(const slot_ptr& slot) {
  waiting_.push_back(slot);
  work();
}

void dispatcher_state::take_back() {
  while (const auto slot = in_flight_.take_aside()) {
    const bool is_turns = (*slot)->holds_turns();
    is_turns ? config_->order->close_turns(**slot) : config_->order->close_probe(**slot);
    (*slot)->release();
    // The rows of turns name lanes, which after a rewind nobody else is to have.
    if (!is_turns || (*slot)->run() >= run_)
      (is_turns ? turns_ : probes_).free.push_back(*slot);
  }
  work();
}

void dispatcher_state::wake() {
  feeds_.heard();
  config_->order->wake();
  work();
}

void dispatcher_state::begin_epoch(std::uint64_t epoch) {
  config_->order->begin_epoch(epoch);
  work();
}

void dispatcher_state::rewind(std::uint64_t run) {
  config_->order->rewind(run);
  run_ = run;
  turns_ = {};
  work();
}

void dispatcher_state::down(const caf::down_msg& x) {
  const auto is_it = [&](const member& of) { return of.handle.address() == x.source; };
  // A worker that was retired leaves no place to fill: any other worker inherits.
  std::size_t heir = 0;
  std::uint32_t dead = 0;
  if (const auto at = std::find_if(retired_.begin(), retired_.end(), is_it); at != retired_.end()) {
    dead = at->id;
    retired_.erase(at);
  } else {
    const auto place = std::find_if(workers_.begin(), workers_.end(), is_it);
    if (place == workers_.end())
      return;
    dead = place->id;
    heir = static_cast<std::size_t>(place - workers_.begin());
    *place = spawn_worker(heir, true);
  }
  for (auto& work : in_flight_.lost(dead, workers_[heir].id, config_->taken))
    self_->send(workers_[heir].handle, std::move(work));
  // It may have died before it told of its last row, and a row that was given up may be the last.
  self_->send(batcher_, complete_atom_v);
  take_back();
}

void dispatcher_state::end(const caf::exit_msg& x) {
  for (auto* all : {&workers_, &retired_})
    for (auto& member : *all)
      member.exit.send();
  feeds_.stop();
  self_->quit(x.reason);
}

void dispatcher_state::fail(const error& problem) {
  has_failed_ = true;
  self_->send(batcher_, fail_atom_v, std::make_shared<const error>(problem));
}

std::vector<caf::actor_addr> dispatcher_state::workers() const {
  std::vector<caf::actor_addr> result;
  for (const auto* all : {&workers_, &retired_})
    for (const auto& member : *all)
      result.push_back(member.handle.address());
  return result;
}

dispatcher_actor::behavior_type dispatcher(dispatcher_state::pointer self,
                                           const dispatcher_config& config) {
  keep_until_end(self, config.alive);
  self->state.prepare(config);
  const auto call = [self](auto method, const auto&... arguments) {
    if (!self->state.has_failed())
      state_call(self, method, arguments...);
  };
  using state = dispatcher_state;
  self->set_down_handler([call](const caf::down_msg& x) { call(&state::down, x); });
  self->set_exit_handler([self](const caf::exit_msg& x) { self->state.end(x); });
  return {
      [call](start_atom, const batcher_actor& x) { call(&state::start, x); },
      [call](deal_atom, const slot_ptr& x) { call(&state::deal, x); },
      [call](complete_atom) { call(&state::take_back); },
      [call](const chunk& x) { call(&state::deal_lent, x); },
      [call](run_atom) { call(&state::wake); },
      [call](epoch_atom, std::uint64_t x) { call(&state::begin_epoch, x); },
      [call](rewind_atom, std::uint64_t x) { call(&state::rewind, x); },
      [call](resize_atom, std::uint64_t x) { call(&state::resize, x); },
  };
}

} // namespace leat
