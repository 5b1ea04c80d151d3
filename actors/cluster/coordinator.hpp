#pragma once

#include "messages/cluster/interfaces.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/cluster/coordinator.hpp"

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace leat {

/// Why a coordinator has ended by itself.
enum class coordinator_end : std::uint8_t {
  /// All batches of the job were handed over, and all ranks know.
  job_over,
  /// Another coordinator has begun.
  superseded,
  /// The state directory was removed.
  lost_directory,
  /// Something else than the state directory failed: another coordinator may begin.
  broken,
};

struct coordinator_config {
  /// The life that has begun, and what outlives it.
  std::uint64_t life = 0;
  std::shared_ptr<coordinator_memory> memory = {};
  secret token = {};
  /// The job's id, if it was named.
  std::string job = {};
  cluster_times times = {};
  /// Stored sets that stay: ranks hear how many, and `make_store` knows it.
  std::uint64_t keep = 3;
  coordinator::find_newest_set newest_set;
  /// Makes the actor that writes the sets, and answers the coordinator.
  std::function<set_store_actor(const coordinator_actor&)> make_store = {};
  /// Lines for the log.
  std::function<void(const std::string&)> log = {};
  /// By the clock that runs on while the machine sleeps.
  std::function<coordinator::time()> now = {};
  /// Called with the reason when it ends by itself, and not after an exit message. Empty: nobody
  /// wants to know.
  std::function<void(coordinator_end)> ended = {};
};

struct coordinator_shell_state {
  static inline const char* name = "coordinator";

  coordinator_config config;
  set_store_actor store;
  /// Made as soon as the state can be read.
  std::unique_ptr<coordinator> value;
  struct connection {
    source_id number = 0;
    member_actor to;
    /// Empty once the value has heard the hello.
    cluster_hello hello;
    bool is_known = false;
  };
  std::map<caf::actor_addr, connection> connections;
  std::map<source_id, caf::actor_addr> addresses;
  /// Connections whose hello the value has not heard.
  std::set<caf::actor_addr> unheard;
  source_id next = 1;
  /// The last problem that was reported: each is reported once.
  std::string problem;
  /// When an observer looked last, and since when there is nothing else to do.
  std::optional<coordinator::time> looked;
  std::optional<coordinator::time> idle;
};

/// Spawn in a thread of its own: it reads and writes the state directory. Lives until an exit
/// message, or until its job is over and everybody knows, or another coordinator has begun.
coordinator_actor::behavior_type
coordinator_shell(coordinator_actor::stateful_pointer<coordinator_shell_state> self,
                  const coordinator_config& config, gate_token alive);

} // namespace leat
