#pragma once

#include "messages/cluster/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace leat {

/// Spawn in a thread of its own: it looks up names and waits for answers. Lives until an exit
/// message.
dialer_actor::behavior_type dialer(dialer_actor::pointer self, gate_token alive);

} // namespace leat
