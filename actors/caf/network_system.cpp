#include "actors/caf/network_system.hpp"

#include "actors/caf/fresh_number.hpp"
#include "actors/caf/wire.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/node_id.hpp>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace leat {

namespace {

/// One of them may be connecting.
constexpr std::size_t control_threads_at_once = 3;

/// CAF names a node by the machine's network cards, its root disk and the pid: all the same in
/// containers of one image, in each of which the process is number 1. Two nodes of one name cannot
/// talk. So this draws a name, after the middleman has made its own and before anyone has used it.
class random_node_name final : public caf::actor_system::module {
public:
  explicit random_node_name(caf::actor_system& system) : system_(system) {}

  void start() override {}
  void stop() override {}
  void init(caf::actor_system_config&) override {
    std::random_device random;
    caf::node_id::default_data::host_id_type host{};
    for (auto& byte : host)
      byte = static_cast<std::uint8_t>(random());
    // The system is no constant, and nothing else lets its name be set.
    const_cast<caf::node_id&>(system_.node()) = // NOLINT(cppcoreguidelines-pro-type-const-cast)
        caf::make_node_id(random(), host);
  }
  /// A place after the middleman's that leat does not use.
  id_t id() const override { return opencl_manager; }
  void* subtype_ptr() override { return this; }

private:
  caf::actor_system& system_;
};

/// CAF knows a connection by its descriptor's number, and hears that one was closed some messages
/// later. If the next one has the same number by then, CAF forgets where it leads: what comes
/// through it has no sender from then on, and what is sent to it is dropped, for as long as it
/// lasts. So no number comes again soon.
class fresh_multiplexer final : public caf::io::network::default_multiplexer {
public:
  using default_multiplexer::default_multiplexer;

  caf::io::scribe_ptr new_scribe(caf::io::network::native_socket fd) override {
    return default_multiplexer::new_scribe(with_fresh_number(fd));
  }
};

/// CAF's own, over this multiplexer. It has no thread.
class fresh_middleman final : public caf::io::middleman {
public:
  fresh_middleman(caf::actor_system& system, std::thread::id runs_in)
      : middleman(system), backend_(&system) {
    backend_.thread_id(runs_in);
  }

  caf::io::network::multiplexer& backend() override { return backend_; }

private:
  fresh_multiplexer backend_;
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
    using namespace std::chrono_literals;
    add_message_types<caf::id_block::leat>();
    add_message_types<caf::id_block::leat_cluster>();
    module_factories.emplace_back([&of](caf::actor_system& system) {
      return scheduler_over(of.control_, of.clock_, system);
    });
    module_factories.emplace_back([&of](caf::actor_system& system) {
      return new fresh_middleman{system, of.talking_.id()};
    });
    module_factories.emplace_back(
        [](caf::actor_system& system) { return new random_node_name{system}; });
    set("scheduler.max-throughput", control_threads::messages_at_a_time);
    // No threads of CAF's own: for its sockets, and for connecting, which blocks a control thread.
    set("middleman.manual-multiplexing", true);
    set("middleman.attach-utility-actors", true);
    // So that a connection through which nothing comes any more is closed one day: beats find that
    // out sooner.
    set("middleman.heartbeat-interval", caf::timespan{5s});
    set("middleman.connection-timeout", caf::timespan{60s});
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
