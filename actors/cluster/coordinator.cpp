#include "actors/cluster/coordinator.hpp"

#include "actors/caf/keep_until_end.hpp"

#include <leat/error.hpp>

#include <utility>

namespace leat {

namespace {

using coordinator_ptr = coordinator_actor::stateful_pointer<coordinator_shell_state>;

/// More connections than these are not leat's.
constexpr std::size_t most_connections = 100'000;

void end(coordinator_ptr self, coordinator_end why) {
  if (self->state.config.ended)
    self->state.config.ended(why);
  self->quit(); // and with it the store, once that has done all its commands
}

/// An observer that looks every second should see how the job has ended.
bool is_looked_at(coordinator_ptr self) {
  auto& state = self->state;
  const auto now = state.config.now();
  state.idle = state.idle.value_or(now);
  return state.looked && now - *state.looked < 3 * state.config.times.beat
         && now - *state.idle < state.config.times.linger;
}

void send_output(coordinator_ptr self, bool with_words = true) {
  auto& state = self->state;
  if (!state.value)
    return;
  auto out = state.value->take_output();
  if (!with_words)
    out.words.clear();
  for (const auto& line : out.log)
    state.config.log(line);
  for (auto& x : out.sets)
    self->send(state.store, std::move(x));
  for (auto& x : out.words)
    if (const auto found = state.addresses.find(x.to); found != state.addresses.end())
      self->send(state.connections.at(found->second).to, std::move(x.what));
  if (state.value->is_superseded())
    end(self, coordinator_end::superseded);
  else if (state.value->has_lost_directory())
    end(self, coordinator_end::lost_directory);
  else if (state.value->has_ended() && !is_looked_at(self))
    end(self, coordinator_end::job_over);
}

/// A state directory that cannot be written is reported once, and the call is tried again with the
/// next beat or tick. Meanwhile the coordinator grants nothing for longer than it was certain, and
/// says nothing that may not be durable: it answers with the next beat. Other exceptions are not
/// caught, since the value may be wrong after them: the coordinator ends.
template <class Call>
void guarded(coordinator_ptr self, Call call) {
  auto& state = self->state;
  try {
    call();
    send_output(self);
  } catch (const error& x) {
    if (std::exchange(state.problem, x.what()) != x.what())
      state.config.log(x.what());
    send_output(self, false);
  }
}

/// The connection that a message came through; null for one that the value does not know.
const coordinator_shell_state::connection* source_of(coordinator_ptr self) {
  const auto& all = self->state.connections;
  const auto found = all.find(caf::actor_cast<caf::actor_addr>(self->current_sender()));
  return found == all.end() || !found->second.is_known ? nullptr : &found->second;
}

/// Passes on the hellos that the value has not heard. That first reads and writes the state
/// directory: if it fails, all wait for the next try.
void introduce_all(coordinator_ptr self) {
  auto& state = self->state;
  if (!state.value)
    state.value = std::make_unique<coordinator>(
        coordinator_settings{
            .job = state.config.job, .times = state.config.times, .keep = state.config.keep},
        std::string{state.config.token.reveal()}, state.config.life, *state.config.memory,
        state.config.newest_set, state.config.now());
  while (!state.unheard.empty()) {
    const auto address = *state.unheard.begin();
    state.unheard.erase(state.unheard.begin());
    auto& x = state.connections.at(address);
    x.is_known = true;
    state.value->on_hello(x.number, std::exchange(x.hello, {}), state.config.now());
  }
}

void hear_hello(coordinator_ptr self, const cluster_hello& x) {
  auto& state = self->state;
  const auto& sender = self->current_sender();
  if (!sender || !state.config.token.is(x.token) || state.connections.size() >= most_connections
      || !is_possible(x.rules))
    return; // without an answer
  const auto address = caf::actor_cast<caf::actor_addr>(sender);
  auto& from = state.connections[address];
  if (from.number == 0) {
    from.number = state.next++;
    from.to = caf::actor_cast<member_actor>(sender);
    state.addresses[from.number] = address;
    self->monitor(from.to);
  }
  from.hello = x;
  from.is_known = false; // the value decides whether this is a repetition
  state.unheard.insert(address);
  introduce_all(self);
}

cluster_status status_of(coordinator_ptr self) {
  auto& state = self->state;
  if (state.value)
    return state.value->status(state.config.now());
  return {.life = state.config.life,
          .phase = static_cast<std::uint8_t>(job_phase::forming),
          .rules = {.world_size = 0, .least_ranks = 0, .most_ranks = 0}, // not known yet
          .job = state.config.job};
}

caf::result<cluster_status> look(coordinator_ptr self, const std::string& token) {
  if (!self->state.config.token.is(token))
    return caf::sec::invalid_argument;
  self->state.looked = self->state.config.now();
  return status_of(self);
}

/// Passes a beat or a part on, unless its sender is not known.
template <class Message>
void pass_on(coordinator_ptr self, const Message& x,
             void (coordinator::*to)(source_id, const Message&, coordinator::time)) {
  const auto& state = self->state;
  if (const auto* from = source_of(self))
    guarded(self, [&] { ((*state.value).*to)(from->number, x, state.config.now()); });
}

void hear_stored(coordinator_ptr self, const job_position& at, const std::string& why_not) {
  const auto& value = self->state.value;
  if (value && why_not.empty())
    value->on_stored(at);
  else if (value)
    value->on_not_stored(at, why_not);
}

void tick(coordinator_ptr self) {
  guarded(self, [&] {
    introduce_all(self);
    self->state.value->tick(self->state.config.now());
    self->state.problem.clear(); // a tick retries all that has failed
  });
  self->delayed_send(self, self->state.config.times.beat / 2, tick_atom_v);
}

void forget(coordinator_ptr self, const caf::actor_addr& who) {
  auto& state = self->state;
  const auto found = state.connections.find(who);
  if (found == state.connections.end())
    return;
  if (state.value)
    state.value->on_closed(found->second.number);
  state.addresses.erase(found->second.number);
  state.unheard.erase(who);
  state.connections.erase(found);
}

void lose(coordinator_ptr self, const caf::actor_addr& who) {
  if (who == self->state.store.address())
    return end(self, coordinator_end::broken); // it would wait for the store's answers for ever
  guarded(self, [&] { forget(self, who); });
}

} // namespace

coordinator_actor::behavior_type
coordinator_shell(coordinator_actor::stateful_pointer<coordinator_shell_state> self,
                  const coordinator_config& config, gate_token alive) {
  self->state.config = config;
  self->state.store = config.make_store(self);
  self->monitor(self->state.store);
  keep_until_end(self, std::move(alive));
  self->set_down_handler([self](const caf::down_msg& x) { lose(self, x.source); });
  self->send(self, tick_atom_v);
  return {
      [self](const cluster_hello& x) { guarded(self, [&] { hear_hello(self, x); }); },
      [self](const cluster_beat& x) { pass_on(self, x, &coordinator::on_beat); },
      [self](const cluster_part& x) { pass_on(self, x, &coordinator::on_part); },
      [self](stored_atom, std::uint64_t epoch, std::uint64_t step, const std::string& why_not) {
        guarded(self, [&] { hear_stored(self, {epoch, step}, why_not); });
      },
      [self](tick_atom) { tick(self); },
      [self](look_atom, const std::string& token) { return look(self, token); },
  };
}

} // namespace leat
