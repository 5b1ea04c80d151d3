#include "actors/runtime_system.hpp"

#include "messages/fwd.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

#include <cstddef>

namespace leat {

namespace {

struct system_config : caf::actor_system_config {
  system_config() {
    add_message_types<caf::id_block::leat>();
    // Only dispatchers and batchers are scheduled: short handlers. Stealing wakes them in 40 us and
    // with a tail of milliseconds, sharing in 5 us.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
    set("scheduler.max-throughput", std::size_t{32});
  }
};

struct configured_system {
  system_config config;
  caf::actor_system system{config};
};

} // namespace

caf::actor_system& shared_system() {
  // Never destroyed: CAF 0.17 can wait forever there for a detached thread that is ending (issues
  // 1196 and 1266). Loaders wait for their own actors; two idle scheduler threads stay behind.
  static auto* const running = new configured_system;
  return running->system;
}

} // namespace leat
