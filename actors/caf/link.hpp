#pragma once

#include "messages/cluster/interfaces.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/network/links/connected_peer.hpp"

#include <caf/actor_system.hpp>

namespace leat {

// A link is a connection as an actor: in each of two processes it stands in for an actor of the
// other. It ends when the connection does, and the connection ends when it does. Its peer can do
// nothing but send the frames of its role. Both calls may come from any thread; around them is a
// `logger_release` unless the thread is an actor's. They throw std::bad_alloc.

/// Beside the coordinator: sends what the peer says to `to`, in the peer's place, and ends with it.
/// `token` is what the coordinator asks observers for.
void link_to_peer(caf::actor_system& on, connected_peer peer, const coordinator_actor& to,
                  const secret& token, gate_token alive);

/// Of a peer that was dialed: the coordinator, as far as `local` can see, or an observer (null).
/// Its words go to `local`, with which it ends. Without one send it an exit message.
coordinator_actor link_to_coordinator(caf::actor_system& on, connected_peer peer,
                                      const member_actor& local, link_role role);

} // namespace leat
