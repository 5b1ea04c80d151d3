#pragma once

#include <caf/actor_cast.hpp>
#include <caf/fwd.hpp>
#include <caf/stateful_actor.hpp>

namespace leat {

/// The state of an actor that lives, for a test in whose thread all actors run.
template <class State, class Handle>
State& state_of(const Handle& x) {
  using actor = caf::stateful_actor<State, typename Handle::base>;
  return dynamic_cast<actor&>(*caf::actor_cast<caf::abstract_actor*>(x)).state;
}

} // namespace leat
