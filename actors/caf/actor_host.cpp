#include "actors/caf/actor_host.hpp"

#include "runtime/base/threads/begin_thread.hpp"

namespace leat {

actor_host::configuration::configuration(control_threads& threads, caf::actor_clock& clock) {
  check_room_for_first_use(); // this thread's, of CAF's logger
  add_message_types<caf::id_block::leat>();
  set("scheduler.max-throughput", control_threads::messages_at_a_time);
  module_factories.emplace_back([&threads, &clock](caf::actor_system& system) {
    return scheduler_over(threads, clock, system);
  });
}

actor_host::actor_host(std::size_t control_threads)
    : control_("loader", control_threads), config_(control_, clock_), system_(config_) {
  const logger_release released; // the system's own spawns
}

} // namespace leat
