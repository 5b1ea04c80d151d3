#include "actors/caf/network_system.hpp"

#include "messages/cluster/fwd.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t control_threads_at_once = 3;

/// CAF's own, over a multiplexer that knows from the beginning in which thread it will run. Its
/// protocol between nodes (BASP) has no port and no connection: links carry frames of leat's.
class quiet_middleman final : public caf::io::middleman {
public:
  quiet_middleman(caf::actor_system& system, std::thread::id runs_in)
      : middleman(system), backend_(&system) {
    backend_.thread_id(runs_in);
  }

  caf::io::network::multiplexer& backend() override { return backend_; }

private:
  caf::io::network::default_multiplexer backend_;
};

/// Runs CAF's work in a thread, and continues after a lack of memory: without its network a process
/// would be mute.
template <class Call>
void run_for_ever(Call call) noexcept {
  for (bool is_told = false;;)
    try {
      return call();
    } catch (...) {
      if (!std::exchange(is_told, true))
        tell_failure(error_in_flight(errc::io, {.stage = "cluster"}));
    }
}

} // namespace

class network_system::configuration : public caf::actor_system_config {
public:
  explicit configuration(network_system& of) {
    add_message_types<caf::id_block::leat>();
    add_message_types<caf::id_block::leat_cluster>();
    module_factories.emplace_back([&of](caf::actor_system& system) {
      return scheduler_over(of.control_, of.clock_, system);
    });
    module_factories.emplace_back([&of](caf::actor_system& system) {
      return new quiet_middleman{system, of.talking_.id()};
    });
    set("scheduler.max-throughput", control_threads::messages_at_a_time);
    // No threads of CAF's own.
    set("middleman.manual-multiplexing", true);
    set("middleman.attach-utility-actors", true);
  }
};

network_system::network_system()
    : control_("cluster", control_threads_at_once), ticking_("cluster"), talking_("cluster") {
  const logger_release released; // the system's own spawns
  try {
    config_ = std::make_unique<configuration>(*this);
    system_ = std::make_unique<caf::actor_system>(*config_);
  } catch (const std::system_error& problem) {
    throw_error(errc::no_resources, "cluster", problem.what(), "what its network needs");
  }
  ticking_.run([this] { run_for_ever([this] { clock_.run_dispatch_loop(); }); });
  talking_.run([this] { run_for_ever([this] { system_->middleman().backend().run(); }); });
}

void tell_failure(const error& x) noexcept try {
  notice(std::string{"cluster: "} + x.what());
} catch (...) { // no memory for the text
}

network_system& network_system::of_process() {
  static mutex guard;
  static network_system* one = nullptr;
  static pid_t owner = 0;
  const mutex_lock lock{guard};
  if (one && owner != getpid())
    throw_error(errc::forked, "cluster", "a cluster in the child of a process that had one",
                "a process of its own (exec; in Python spawn)");
  if (!one) {
    one = new network_system;
    owner = getpid();
  }
  return *one;
}

} // namespace leat
