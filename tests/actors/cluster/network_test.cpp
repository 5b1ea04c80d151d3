#include "actors/cluster/listening_coordinator.hpp"
#include "tests/support/cluster_nodes.hpp"

namespace leat::network_test {

using namespace std::chrono_literals;
using test::hello_for;
using test::kept_in_memory;
using test::node;
using test::rank_process;
using test::short_times;

namespace {

using std::chrono::steady_clock;

bool has_seat(const member& x) {
  return x.term() == 1;
}

/// The coordinator on node 0, at a port that the system chooses.
struct lead_on_node {
  explicit lead_on_node(std::uint16_t at = 0,
                        std::shared_ptr<kept_in_memory> keep = std::make_shared<kept_in_memory>())
      : memory(std::move(keep)) {
    listening_config config;
    config.place = {parse_ip("127.0.0.1").value(), {"127.0.0.1", at}};
    config.memory = memory;
    config.begin_life = [this](const std::string&) { return memory->begin_life(); };
    config.token = "secret";
    config.times = short_times();
    config.log = [](const std::string&) {};
    config.ended = [this](coordinator_end why) {
      const mutex_lock lock{guard};
      end = why;
      changed.notify_all();
    };
    lead.emplace(node(0), config);
    port = lead->address().port;
  }

  /// Why it ends by itself; nothing if it does not.
  std::optional<coordinator_end> wait_for_end() {
    const auto deadline = steady_clock::now() + 20s;
    const mutex_lock lock{guard};
    while (!end && changed.wait_until(guard, deadline)) {
    }
    return end;
  }

  std::shared_ptr<kept_in_memory> memory;
  std::uint16_t port = 0;
  mutex guard;
  condition_variable changed;
  std::optional<coordinator_end> end LEAT_GUARDED_BY(guard);
  std::optional<listening_coordinator> lead;
};

} // namespace

TEST_CASE("a rank that begins before its coordinator finds it later") {
  std::uint16_t port = 0;
  {
    const lead_on_node first;
    port = first.port;
  }
  rank_process a{1, hello_for(1, 0, 1), port};
  REQUIRE(a.becomes([](const member& x) { return !x.no_connection().empty(); }));
  const lead_on_node lead{port};
  CHECK(a.becomes(has_seat));
}

TEST_CASE("a failure reaches the other ranks") {
  const lead_on_node lead;
  rank_process a{1, hello_for(1, 0, 2), lead.port};
  rank_process b{2, hello_for(2, 1, 2), lead.port};
  REQUIRE(a.becomes(has_seat));
  REQUIRE(b.becomes(has_seat));
  a.place->state([](member& x) { x.fail("a bad sample"); });
  CHECK(b.becomes([](const member& x) { return x.failure() == "rank 0: a bad sample"; }));
}

TEST_CASE("a state directory that cannot be written holds the job up, and no more") {
  const lead_on_node lead;
  lead.memory->is_broken = true;
  const rank_process a{1, hello_for(1, 0, 1), lead.port};
  CHECK_FALSE(
      a.place->wait_until([](const member& x) { return x.term() > 0; }, steady_clock::now() + 1s));
  lead.memory->is_broken = false;
  CHECK(a.place->wait_until(has_seat, steady_clock::now() + 20s));
}

TEST_CASE("the coordinator's own process needs no connection") {
  const lead_on_node lead;
  const auto place =
      std::make_shared<shared_member>(hello_for(1, 0, 1), short_times(), test::steady_now);
  const auto lives = std::make_shared<gate>();
  const logger_release released;
  auto handle = node(0).system().spawn(
      member_shell,
      member_config{.place = place, .local = lead.lead->handle(), .beat = short_times().beat},
      gate_token{lives});
  CHECK(place->wait_until(has_seat, steady_clock::now() + 20s));
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  handle = nullptr;
  CHECK(lives->wait_for_none(10s));
}

TEST_CASE("a coordinator that cannot go on says so, and its ranks find the next one") {
  const auto is_at_same_port = GENERATE(true, false);
  const auto memory = std::make_shared<kept_in_memory>();
  std::optional<lead_on_node> first{std::in_place, std::uint16_t{0}, memory};
  rank_process a{1, hello_for(1, 0, 1), first->port};
  REQUIRE(a.becomes(has_seat));
  memory->has_no_memory = true;
  CHECK(first->wait_for_end() == coordinator_end::broken);
  memory->has_no_memory = false;
  const auto port = first->port;
  first.reset();
  const lead_on_node second{is_at_same_port ? port : std::uint16_t{0}, memory};
  *a.port = second.port;
  const auto before = a.place->look([](const member& x) { return *x.heard(); });
  CHECK(a.becomes([&](const member& x) { return *x.heard() > before; }));
  CHECK(a.place->look(&member::term) == 1);
}

TEST_CASE("a rank whose coordinator says nothing any more looks for another one") {
  const admission rules{.roles = link_role::rank, .token = secret{"secret"}};
  mutex guard;
  std::vector<connected_peer> kept;
  port_guard mute{{.at = parse_ip("127.0.0.1").value(), .rules = rules}};
  mute.begin([&](connected_peer x) {
    const mutex_lock lock{guard};
    kept.push_back(std::move(x));
  });
  const lead_on_node lead;
  rank_process a{1, hello_for(1, 0, 1), mute.port()};
  std::this_thread::sleep_for(300ms); // it is connected
  *a.port = lead.port;
  CHECK(a.becomes(has_seat));
  const mutex_lock lock{guard};
  CHECK(kept.size() == 1);
}

} // namespace leat::network_test
