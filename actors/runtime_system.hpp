#pragma once

#include <caf/actor_system.hpp>

#include <memory>

namespace leat {

/// The actor system that all loaders of this process share. It begins with the first holder and
/// ends with the last, which waits until every actor is gone.
std::shared_ptr<caf::actor_system> shared_system();

} // namespace leat
