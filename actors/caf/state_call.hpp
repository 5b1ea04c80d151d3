#pragma once

#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>

#include <utility>

namespace leat {

/// Calls a method of an actor's state: all that a handler does. What it throws goes to the state's
/// `fail`; if it killed the actor, its text would be lost.
template <class Self, class Method, class... Arguments>
void state_call(Self* self, Method method, Arguments&&... arguments) {
  auto& state = self->state;
  try {
    (state.*method)(std::forward<Arguments>(arguments)...);
  } catch (...) {
    state.fail(error_in_flight(errc::io, {.stage = state.name}));
  }
}

} // namespace leat
