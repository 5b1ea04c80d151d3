#pragma once

#include <caf/actor_system.hpp>

namespace leat {

/// The actor system that all loaders of this process share. It begins with the first loader and
/// stays until the process ends.
caf::actor_system& shared_system();

} // namespace leat
