#pragma once

#include "actors/cluster/shared_member.hpp"
#include "messages/cluster/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/network/address.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace leat {

struct member_config {
  std::shared_ptr<shared_member> place = {};
  /// The coordinator, if it runs in this process; null: connect to it.
  coordinator_actor local = {};
  /// Where the coordinator is to be found. Called for each attempt; must not block for long.
  std::function<network_address()> coordinator = {};
  /// Whether the job is over, as far as can be seen without a coordinator; asked if none answers.
  /// Must not block for long.
  std::function<bool()> is_over = {};
  dialer_actor dialer = {};
  std::chrono::nanoseconds beat{std::chrono::seconds{1}};
};

struct member_state {
  static inline const char* name = "member";

  member_config config;
  /// Null while there is no connection.
  coordinator_actor coordinator;
  /// Between two attempts to connect; doubles with each that fails.
  std::chrono::milliseconds pause{0};
  bool is_dialing = false;
  /// Dials next the address to which the coordinator said it has moved, and not the one where it
  /// should be. The two alternate as long as nobody answers.
  bool goes_where_told = true;
  std::uint64_t ticks = 0;
  /// When the connection was made, by the clock of `place`.
  member::time connected{0};
};

/// Keeps up the connection to the coordinator, sends what the rank states, and hears the
/// coordinator's words. Lives until an exit message.
member_actor::behavior_type member_shell(member_actor::stateful_pointer<member_state> self,
                                         const member_config& config, gate_token alive);

} // namespace leat
