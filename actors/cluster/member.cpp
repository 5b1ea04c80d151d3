#include "actors/cluster/member.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "runtime/cluster/process/process_identity.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace leat {

namespace {

using member_ptr = member_actor::stateful_pointer<member_state>;
using namespace std::chrono_literals;

constexpr int ticks_per_beat = 4;
/// After so long a silence nobody is there, or somebody else.
constexpr int beats_of_silence = 5;
constexpr std::chrono::milliseconds first_pause = 100ms;
constexpr std::chrono::milliseconds longest_pause = 5s;

void dial(member_ptr self);

/// Looks for processes of this host that have certainly ended: others then need not wait for their
/// silence.
void look_around(member_ptr self) {
  const auto neighbours = self->state.config.place->look(&member::neighbours);
  for (const auto& x : neighbours)
    if (is_known_dead(x.second))
      self->state.config.place->hear([&](member& to) { to.on_gone(x.first); });
}

/// Sends the beat and the piece that are due.
void say(member_ptr self) {
  auto& state = self->state;
  if (!state.coordinator)
    return;
  state.config.place->note_feeds();
  auto [beat, piece] = state.config.place->hear([](member& x, member::time now) {
    auto due = x.take_beat(now);
    return std::pair{std::move(due), x.take_piece()};
  });
  if (beat)
    self->send(state.coordinator, std::move(*beat));
  if (piece)
    self->send(state.coordinator, std::move(*piece));
}

void try_again_later(member_ptr self) {
  auto& state = self->state;
  state.is_dialing = false;
  state.goes_where_told = !state.goes_where_told;
  state.pause = std::clamp(2 * state.pause, first_pause, longest_pause);
  if (state.config.is_over && state.config.is_over())
    state.config.place->hear([](member& x) { x.on_over(); });
}

void be_connected(member_ptr self, const coordinator_actor& to) {
  auto& state = self->state;
  state.is_dialing = false;
  state.coordinator = to;
  self->monitor(state.coordinator);
  auto hello = state.config.place->hear([&](member& x, member::time now) {
    x.on_connected();
    state.connected = now;
    return x.hello();
  });
  self->send(state.coordinator, std::move(hello));
  say(self);
}

/// Looks for the coordinator again if no word arrives at all: it may have ended without a sign, and
/// another one may have begun elsewhere.
void leave_the_silent(member_ptr self) {
  auto& state = self->state;
  if (!state.coordinator || state.config.local)
    return;
  const bool is_silent = state.config.place->look([&](const member& x, member::time now) {
    return now - std::max(state.connected, x.heard().value_or(state.connected))
           > beats_of_silence * state.config.beat;
  });
  if (!is_silent)
    return;
  self->demonitor(state.coordinator.address());
  self->send_exit(state.coordinator, caf::exit_reason::user_shutdown);
  state.coordinator = nullptr;
  dial(self);
}

network_address place_of_coordinator(member_ptr self) {
  auto& state = self->state;
  const auto told = state.config.place->look(&member::moved_to);
  if (state.goes_where_told && !told.empty())
    try {
      return parse_address(told, "the coordinator's word");
    } catch (const error&) { // not an address: the configuration may have one
    }
  return state.config.coordinator();
}

void dial(member_ptr self) {
  auto& state = self->state;
  if (state.coordinator || state.is_dialing)
    return;
  if (state.config.local)
    return be_connected(self, state.config.local);
  state.is_dialing = true;
  const auto to = place_of_coordinator(self);
  self->request(state.config.dialer, caf::infinite, dial_atom_v, to.host, to.port)
      .then(
          [self](const dial_answer& x) {
            if (x.link)
              return be_connected(self, x.link);
            self->state.config.place->hear(
                [&](member& place) { place.on_no_connection(x.problem); });
            try_again_later(self);
          },
          [self](const caf::error&) { try_again_later(self); });
}

void hear(member_ptr self, const cluster_word& x) {
  self->state.pause = 0ms;
  self->state.config.place->hear([&](member& place, member::time now) { place.on_word(x, now); });
  say(self);
}

void tick(member_ptr self) {
  auto& state = self->state;
  const auto pause = state.config.beat / ticks_per_beat;
  // Leases may have run out.
  state.config.place->hear([](member& x, member::time now) { x.on_tick(now); });
  if (state.ticks++ % ticks_per_beat == 0)
    look_around(self);
  leave_the_silent(self);
  say(self);
  if (!state.coordinator && !state.is_dialing) {
    state.pause -= std::chrono::duration_cast<std::chrono::milliseconds>(pause);
    if (state.pause <= 0ms)
      dial(self);
  }
  self->delayed_send(self, pause, tick_atom_v);
}

void lose(member_ptr self, const caf::actor_addr& who) {
  auto& state = self->state;
  if (!state.coordinator || who != state.coordinator.address())
    return;
  const bool was_heard = state.config.place->look(
      [&](const member& x, member::time) { return x.heard().value_or(-1ns) >= state.connected; });
  state.coordinator = nullptr;
  if (std::exchange(state.config.local, nullptr) || was_heard)
    return dial(self); // another one has taken over, or will soon be there again
  try_again_later(self);
}

} // namespace

member_actor::behavior_type member_shell(member_actor::stateful_pointer<member_state> self,
                                         const member_config& config, gate_token alive) {
  self->state.config = config;
  keep_until_end(self, std::move(alive));
  self->set_down_handler([self](const caf::down_msg& x) { lose(self, x.source); });
  self->send(self, tick_atom_v);
  return {
      [self](const cluster_word& x) { hear(self, x); },
      [self](say_atom) { say(self); },
      [self](tick_atom) { tick(self); },
  };
}

} // namespace leat
