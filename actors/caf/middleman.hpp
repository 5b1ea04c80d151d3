#pragma once

#include "actors/caf/wire.hpp"
#include "messages/cluster/interfaces.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/middleman_actor.hpp>
#include <caf/node_id.hpp>

#include <set>
#include <string>

namespace leat {

/// What CAF's middleman has found at an address, as a coordinator; null for another actor, and for
/// one of this process.
inline coordinator_actor found_coordinator(caf::actor_system& here, const caf::node_id& node,
                                           const caf::strong_actor_ptr& found,
                                           const std::set<std::string>& interfaces) {
  if (!found || node == here.node()
      || !here.assignable(interfaces, here.message_types<coordinator_actor>()))
    return {};
  return caf::actor_cast<coordinator_actor>(found);
}

} // namespace leat
