#include "actors/runtime_system.hpp"

#include "messages/fwd.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

#include <cstddef>
#include <mutex>

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

std::shared_ptr<caf::actor_system> shared_system() {
  static std::mutex mutex;
  static std::weak_ptr<configured_system> running;
  std::lock_guard lock{mutex};
  auto held = running.lock();
  if (!held)
    running = held = std::make_shared<configured_system>();
  return {held, &held->system};
}

} // namespace leat
