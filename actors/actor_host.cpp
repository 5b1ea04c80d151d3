#include "actors/actor_host.hpp"

#include "runtime/base/begin_thread.hpp"

namespace leat {

namespace {

/// Control threads have short handlers alone.
constexpr std::size_t messages_at_a_time = 32;

} // namespace

actor_host::configuration::configuration(control_threads& threads) {
  check_room_for_first_use(); // this thread's, of CAF's logger
  add_message_types<caf::id_block::leat>();
  set("scheduler.max-throughput", messages_at_a_time);
  module_factories.emplace_back(
      [&threads](caf::actor_system& system) { return scheduler_over(threads, system); });
}

actor_host::actor_host(std::size_t control_threads)
    : control_(control_threads, messages_at_a_time), config_(control_), system_(config_) {
  const logger_release released; // the system's own spawns
}

} // namespace leat
