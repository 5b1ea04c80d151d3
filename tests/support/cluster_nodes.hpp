#pragma once

#include "actors/caf/network_system.hpp"
#include "actors/cluster/dialer.hpp"
#include "actors/cluster/member.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_facts.hpp"
#include "tests/support/standard.hpp"

#include <caf/send.hpp>

// Nodes and ranks within a test's process, with a network between them.

namespace leat::test {

using namespace std::chrono_literals;

inline std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// Short beats, so that no test waits long, but long limits, so that no rank is lost on a busy
/// machine.
inline cluster_times short_times() {
  return {.beat = 100ms,
          .lost = 20s,
          .lost_unconnected = 20s,
          .lease = 60s,
          .rejoin_within = 60s,
          .last_call = 500ms,
          .linger = 1s};
}

/// Several nodes in one process, shared by all tests and never destroyed. Any thread.
inline network_system& node(std::size_t number) {
  static const std::array all{new network_system, new network_system, new network_system};
  return *all.at(number);
}

/// What a rank's process has, on a node of its own.
struct rank_process {
  rank_process(std::uint64_t number, const cluster_hello& hello, std::uint16_t at)
      : on(node(number)), port(std::make_shared<std::atomic<std::uint16_t>>(at)),
        place(std::make_shared<shared_member>(hello, short_times(), steady_now)) {
    const logger_release released;
    dial = spawn_in_thread(on.system(), on.threads(), "dialer", tell_failure, dialer,
                           dialer_config{.token = secret{hello.token}, .stop = stop},
                           gate_token{lives});
    handle = on.system().spawn(member_shell,
                               member_config{.place = place,
                                             .coordinator =
                                                 [port = port] {
                                                   return network_address{"127.0.0.1", *port};
                                                 },
                                             .dialer = dial,
                                             .beat = short_times().beat},
                               gate_token{lives});
    place->set_speaker([to = handle] { caf::anon_send(to, say_atom_v); });
  }
  ~rank_process() {
    place->set_speaker({});
    stop->set();
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(dial, caf::exit_reason::user_shutdown);
    handle = nullptr;
    dial = nullptr;
    CHECK(lives->wait_for_none(10s));
  }
  rank_process(const rank_process&) = delete;
  rank_process& operator=(const rank_process&) = delete;

  template <class IsSo>
  bool becomes(IsSo is_so) {
    return place->wait_until(is_so, std::chrono::steady_clock::now() + 20s);
  }

  network_system& on;
  /// Where it looks for the coordinator.
  std::shared_ptr<std::atomic<std::uint16_t>> port;
  std::shared_ptr<shared_member> place;
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  std::shared_ptr<const wake_event> stop = std::make_shared<wake_event>();
  dialer_actor dial;
  member_actor handle;
};

inline cluster_hello hello_for(std::uint64_t process, std::uint64_t rank,
                               std::uint64_t world_size) {
  auto hello = hello_of(process, rank);
  hello.rules.world_size = world_size;
  return hello;
}

} // namespace leat::test
