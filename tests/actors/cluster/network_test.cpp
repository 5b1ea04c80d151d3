#include "actors/cluster/coordinator.hpp"
#include "actors/cluster/dialer.hpp"
#include "actors/cluster/member.hpp"
#include "actors/cluster/network_system.hpp"
#include "actors/cluster/set_store.hpp"
#include "runtime/snapshot/job_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cluster_facts.hpp"
#include "tests/support/temporary_directory.hpp"

#include <caf/io/middleman.hpp>
#include <caf/send.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>

using namespace leat;
using namespace std::chrono_literals;
using test::hello_of;
using test::kept_in_memory;

namespace {

using std::chrono::steady_clock;

std::chrono::nanoseconds now() {
  return steady_clock::now().time_since_epoch();
}

cluster_times short_times() {
  return {.beat = 100ms,
          .lost = 1s,
          .lost_unconnected = 300ms,
          .lease = 3s,
          .rejoin_within = 10s,
          .last_call = 500ms,
          .linger = 1s};
}

/// Nodes of their own in one process, kept for all tests: they stay for ever. Any thread.
network_system& node(std::size_t number) {
  static const std::array all{new network_system, new network_system, new network_system};
  return *all.at(number);
}

/// The coordinator on node 0, at a port that the system chooses.
struct listening_coordinator {
  explicit listening_coordinator(std::uint16_t at = 0) {
    const logger_release released;
    auto& on = node(0);
    coordinator_config config{
        .life = memory->begin_life(),
        .memory = memory,
        .token = "secret",
        .times = short_times(),
        .newest_set = newest_set_in,
        .make_store = [this](const coordinator_actor& to) { return begin_store(to); },
        .log = [](const std::string&) {},
        .now = now};
    handle = spawn_in_thread(on.system(), on.threads(), "coordinator", coordinator_shell, config,
                             gate_token{lives});
    const auto found = on.system().middleman().publish(handle, at, "127.0.0.1", true);
    REQUIRE(found);
    port = *found;
  }
  ~listening_coordinator() { end(); }
  listening_coordinator(const listening_coordinator&) = delete;
  listening_coordinator& operator=(const listening_coordinator&) = delete;

  set_store_actor begin_store(const coordinator_actor& to) {
    auto& on = node(0);
    return spawn_in_thread(on.system(), on.threads(), "set store", set_store,
                           set_files_config{.is_newest = [] { return true; }}, to,
                           gate_token{lives});
  }
  void end() {
    if (!handle)
      return;
    const logger_release released;
    (void)node(0).system().middleman().unpublish(handle, port);
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    handle = nullptr;
    CHECK(lives->wait_for_none(10s));
  }

  std::shared_ptr<kept_in_memory> memory = std::make_shared<kept_in_memory>();
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  coordinator_actor handle;
  std::uint16_t port = 0;
};

/// A rank's process, on a node of its own.
struct rank_process {
  rank_process(std::uint64_t number, const cluster_hello& hello, std::uint16_t port)
      : on(node(number)), place(std::make_shared<membership>(hello, short_times(), now)) {
    const logger_release released;
    dial = spawn_in_thread(on.system(), on.threads(), "dialer", dialer, gate_token{lives});
    handle = on.system().spawn(member_shell,
                               member_config{.place = place,
                                             .coordinator =
                                                 [port] {
                                                   return network_address{"127.0.0.1", port};
                                                 },
                                             .dialer = dial,
                                             .beat = short_times().beat},
                               gate_token{lives});
    place->set_speaker([to = handle] { caf::anon_send(to, say_atom_v); });
  }
  ~rank_process() {
    place->set_speaker({});
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
    return place->wait_until([&](const member& x, member::time) { return is_so(x); },
                             steady_clock::now() + 20s);
  }

  network_system& on;
  std::shared_ptr<membership> place;
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  dialer_actor dial;
  member_actor handle;
};

cluster_hello hello_for(std::uint64_t process, std::uint64_t rank, std::uint64_t world_size) {
  auto hello = hello_of(process, rank);
  hello.rules.world_size = world_size;
  return hello;
}

} // namespace

TEST_CASE("ranks on nodes of their own get their seats, store a set and end the job") {
  const test::temporary_directory sets;
  const listening_coordinator lead;
  rank_process a{1, hello_for(1, 0, 2), lead.port};
  rank_process b{2, hello_for(2, 1, 2), lead.port};
  const auto has_seat = [](const member& x) { return x.term() == 1; };
  REQUIRE(a.becomes(has_seat));
  REQUIRE(b.becomes(has_seat));
  for (auto* x : {&a, &b})
    x->place->state([&](member& to) {
      to.want(sets.path(), {});
      to.begin({0, 0}, 0);
      to.save({1, 0},
              std::make_shared<const std::string>(test::part_of(x == &a ? 0 : 1, 2, {1, 0})));
      to.finish();
    });
  const auto is_over = [](const member& x) { return x.is_over(); };
  CHECK(a.becomes(is_over));
  CHECK(b.becomes(is_over));
  const job_file_reader file{sets.path(), {1, 0, 2}};
  CHECK(file.part(0).rank == 0);
  CHECK(file.part(1).rank == 1);
}

TEST_CASE("a rank that begins before its coordinator finds it later") {
  std::uint16_t port = 0;
  {
    const listening_coordinator first;
    port = first.port;
  }
  rank_process a{1, hello_for(1, 0, 1), port};
  REQUIRE(a.becomes([](const member& x) { return !x.no_connection().empty(); }));
  const listening_coordinator lead{port};
  CHECK(a.becomes([](const member& x) { return x.term() == 1; }));
}

TEST_CASE("a failure reaches the other ranks") {
  const listening_coordinator lead;
  rank_process a{1, hello_for(1, 0, 2), lead.port};
  rank_process b{2, hello_for(2, 1, 2), lead.port};
  REQUIRE(a.becomes([](const member& x) { return x.term() == 1; }));
  REQUIRE(b.becomes([](const member& x) { return x.term() == 1; }));
  a.place->state([](member& x) { x.fail("a bad sample"); });
  CHECK(b.becomes([](const member& x) { return x.failure() == "rank 0: a bad sample"; }));
}

TEST_CASE("a state directory that cannot be written holds the job up, and no more") {
  const listening_coordinator lead;
  lead.memory->is_broken = true;
  const rank_process a{1, hello_for(1, 0, 1), lead.port};
  CHECK_FALSE(a.place->wait_until([](const member& x, member::time) { return x.term() > 0; },
                                  steady_clock::now() + 1s));
  lead.memory->is_broken = false;
  CHECK(a.place->wait_until([](const member& x, member::time) { return x.term() == 1; },
                            steady_clock::now() + 20s));
}

TEST_CASE("a process with another token never gets a seat, and is not answered") {
  const listening_coordinator lead;
  auto hello = hello_for(1, 0, 1);
  hello.token = "guess";
  rank_process a{1, hello, lead.port};
  CHECK_FALSE(
      a.place->wait_until([](const member& x, member::time) { return x.heard().has_value(); },
                          steady_clock::now() + 1s));
}

TEST_CASE("the coordinator's own process needs no connection") {
  const listening_coordinator lead;
  const auto place = std::make_shared<membership>(hello_for(1, 0, 1), short_times(), now);
  const auto lives = std::make_shared<gate>();
  const logger_release released;
  auto handle = node(0).system().spawn(
      member_shell, member_config{.place = place, .local = lead.handle, .beat = short_times().beat},
      gate_token{lives});
  CHECK(place->wait_until([](const member& x, member::time) { return x.term() == 1; },
                          steady_clock::now() + 20s));
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  handle = nullptr;
  CHECK(lives->wait_for_none(10s));
}
