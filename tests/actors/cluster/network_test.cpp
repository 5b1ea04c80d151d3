#include "actors/cluster/listening_coordinator.hpp"
#include "runtime/cluster/message_codec.hpp"
#include "tests/support/cluster_nodes.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/sanitized.hpp"

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
                        std::shared_ptr<kept_in_memory> keep = std::make_shared<kept_in_memory>(),
                        std::shared_ptr<renewed_certificates> own = {})
      : memory(std::move(keep)) {
    listening_config config;
    config.place = {parse_ip("127.0.0.1").value(), {"127.0.0.1", at}};
    config.memory = memory;
    config.begin_life = [this](const std::string&) { return memory->begin_life(); };
    config.token = "secret";
    config.certificates = std::move(own);
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

/// What some processes do to a coordinator that is about to end.
class visitors {
public:
  visitors(std::uint16_t port, std::shared_ptr<const certificates> rank,
           std::shared_ptr<const certificates> observer)
      : port_(port), rank_(std::move(rank)), observer_(std::move(observer)) {}

  void say_little() {
    for (const std::string_view text : {"", "\x16\x03\x01", "GET"})
      (void)!::send(sockets_.emplace_back(test::connect_here(port_)).get(), text.data(),
                    text.size(), MSG_NOSIGNAL);
  }
  /// Connected as it should be, and mute.
  void be_admitted() { enter(link_role::rank); }
  /// Says much that is perhaps not heard by the end.
  void say_much() {
    auto& x = enter(link_role::rank);
    for (std::uint64_t i = 0; i < 20; ++i)
      say(x, frame_kind::beat,
          encode(cluster_beat{.number = i, .failure = std::string(9'000, 'x')}));
  }
  /// Asks until nothing more can be sent to it.
  void read_nothing() {
    auto& x = enter(link_role::observer);
    const int few = 4096;
    ::setsockopt(x.socket.get(), SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
    for (int i = 0; i < 2000; ++i) {
      if (i % 40 == 39)
        std::this_thread::sleep_for(1ms); // more at a time than it would be heard
      say(x, frame_kind::look, {});
    }
  }
  /// False if somebody's connection has not ended.
  bool are_gone() {
    for (auto& x : peers_)
      sockets_.push_back(std::move(x.socket));
    return std::all_of(sockets_.begin(), sockets_.end(),
                       [](const auto& x) { return test::read_to_end(x).has_value(); });
  }

private:
  connected_peer& enter(link_role role) {
    const dial_wish wish{.to = {"127.0.0.1", port_},
                         .own = role == link_role::rank ? rank_ : observer_,
                         .hello = {.role = role, .token = secret{"secret"}}};
    return peers_.emplace_back(dial_peer(wish, nullptr));
  }
  static void say(connected_peer& to, frame_kind kind, const std::string& body) {
    byte_buffer out;
    write_frame(*to.layer, kind, 0, body, out);
    (void)!::send(to.socket.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  std::uint16_t port_;
  std::shared_ptr<const certificates> rank_;
  std::shared_ptr<const certificates> observer_;
  std::vector<file_descriptor> sockets_;
  std::deque<connected_peer> peers_;
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

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

TEST_CASE("a coordinator begins and ends at once, whatever its connections do") {
  const test::link_site site;
  const auto own =
      certificates_in(site.issue("lead", {link_role::coordinator}), link_role::coordinator);
  const auto rank = site.make(link_role::rank);
  const auto observer = site.make(link_role::observer);
  {
    const lead_on_node warm{0, std::make_shared<kept_in_memory>(), own};
    visitors{warm.port, rank, observer}.be_admitted();
  }
  std::this_thread::sleep_for(100ms);
  const auto before = open_descriptors();
  steady_clock::duration longest{};
  for (int i = 0; i < (test::sanitized ? 16 : 200); ++i) {
    const bool is_secured = i % 2 == 0;
    std::optional<lead_on_node> lead{std::in_place, std::uint16_t{0},
                                     std::make_shared<kept_in_memory>(),
                                     is_secured ? own : nullptr};
    visitors all{lead->port, is_secured ? rank : nullptr, is_secured ? observer : nullptr};
    if (i % 8 < 2)
      all.say_little();
    if (i % 8 < 4)
      all.be_admitted();
    if (i % 8 < 6)
      all.say_much();
    if (i % 8 > 5)
      all.read_nothing();
    const auto begin = steady_clock::now();
    lead.reset();
    longest = std::max(longest, steady_clock::now() - begin);
    CHECK(all.are_gone());
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  WARN("the longest end took " << ms << " ms");
  CHECK(longest < 8s); // it would wait 10 s for what does not end
  for (int i = 0; i < 100 && open_descriptors() != before; ++i)
    std::this_thread::sleep_for(20ms);
  CHECK(open_descriptors() == before);
}

} // namespace leat::network_test
