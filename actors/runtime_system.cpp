#include "actors/runtime_system.hpp"

#include "actors/control_threads.hpp"
#include "messages/fwd.hpp"

#include <caf/actor_system_config.hpp>

#include <cstddef>

namespace leat {

namespace {

/// Only dispatchers and batchers are scheduled: short handlers.
constexpr std::size_t num_control_threads = 2;
constexpr std::size_t messages_at_a_time = 32;

struct system_config : caf::actor_system_config {
  explicit system_config(control_threads& threads) {
    add_message_types<caf::id_block::leat>();
    set("scheduler.max-throughput", messages_at_a_time);
    module_factories.emplace_back(
        [&threads](caf::actor_system& system) { return scheduler_over(threads, system); });
  }
};

struct configured_system {
  /// First: all that can fail.
  control_threads threads{num_control_threads, messages_at_a_time};
  system_config config{threads};
  caf::actor_system system{config};
};

} // namespace

caf::actor_system& shared_system() {
  // Never destroyed: CAF 0.17 can wait forever there for a detached thread that is ending (issues
  // 1196 and 1266). Loaders wait for their own actors; two idle threads stay behind.
  static auto* const running = new configured_system;
  return running->system;
}

} // namespace leat
