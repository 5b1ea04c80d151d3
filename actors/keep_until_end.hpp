#pragma once

#include "runtime/base/gate.hpp"

#include <caf/error.hpp>

#include <utility>

namespace leat {

/// Gives the token back when the actor has ended, and whoever waits for it finds nothing left of
/// what the actor held. Not a member of its state: CAF destroys that first, and then the mailbox
/// with its messages, in which there may be slots.
template <class Actor>
void keep_until_end(Actor* self, gate_token alive) {
  self->attach_functor([held = std::move(alive)](const caf::error&) mutable { held = {}; });
}

} // namespace leat
