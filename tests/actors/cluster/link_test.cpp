#include "actors/caf/link.hpp"
#include "runtime/cluster/message_codec.hpp"
#include "runtime/network/links/tls_session.hpp"
#include "tests/support/cluster_nodes.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown_error.hpp"

#include <caf/scoped_actor.hpp>

namespace leat::link_test {

using namespace std::chrono_literals;
using test::node;
using test::soon;
using test::within;

namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// What an actor has heard, as texts.
class heard {
public:
  void add(const std::string& x) {
    const std::lock_guard lock{mutex_};
    all_.push_back(x);
    changed_.notify_all();
  }
  bool becomes(const std::vector<std::string>& wanted) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, soon, [&] { return all_ == wanted; });
  }
  std::size_t number() {
    const std::lock_guard lock{mutex_};
    return all_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> all_;
};

/// A coordinator that answers each beat with a word, and says what it hears.
coordinator_actor::behavior_type lead(coordinator_actor::pointer self,
                                      std::shared_ptr<heard> what) {
  self->set_down_handler([what](const caf::down_msg&) { what->add("gone"); });
  return {[self, what](const cluster_hello& x) {
            self->monitor(caf::actor_cast<caf::actor>(self->current_sender()));
            what->add("hello of " + x.host_name);
          },
          [self, what](const cluster_beat& x) {
            what->add("beat " + std::to_string(x.number));
            self->send(caf::actor_cast<member_actor>(self->current_sender()),
                       cluster_word{.echo = x.number, .reason = std::string(x.hunger, 'x')});
            if (x.is_leaving)
              self->quit();
          },
          [what](const cluster_part& x) { what->add("part " + std::to_string(x.bytes.size())); },
          [what](stored_atom, std::uint64_t, std::uint64_t, const std::string&) {
            what->add("stored");
          },
          [what](tick_atom) { what->add("tick"); },
          [](look_atom, const std::string& token) -> caf::result<cluster_status> {
            if (token != "secret")
              return caf::sec::invalid_argument;
            return cluster_status{.life = 7};
          }};
}

member_actor::behavior_type listener(member_actor::pointer self, std::shared_ptr<heard> what,
                                     coordinator_actor to) {
  if (to)
    self->monitor(to);
  self->set_down_handler([what](const caf::down_msg&) { what->add("gone"); });
  return {[what](const cluster_word& x) { what->add("word " + std::to_string(x.echo)); },
          [](say_atom) {}, [](tick_atom) {}};
}

std::pair<file_descriptor, file_descriptor> pair_of_sockets() {
  std::array<int, 2> both{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both.data()) != 0)
    throw std::runtime_error("no sockets");
  return {file_descriptor{both[0]}, file_descriptor{both[1]}};
}

connected_peer peer_of(file_descriptor socket, link_role role) {
  return {.socket = std::move(socket), .layer = std::make_unique<plain_layer>(), .role = role};
}

/// A coordinator with a link to whoever has the other end of a socket.
struct linked_lead {
  explicit linked_lead(link_role role = link_role::rank) {
    const logger_release released;
    auto sockets = pair_of_sockets();
    far = std::move(sockets.second);
    handle = node(0).system().spawn(lead, what);
    link_to_peer(node(0).system(), peer_of(std::move(sockets.first), role), handle,
                 secret{"secret"}, gate_token{lives});
  }
  ~linked_lead() {
    const logger_release released;
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    handle = nullptr;
    CHECK(lives->wait_for_none(10s));
  }

  waiting_link raw() {
    return waiting_link{std::move(far), std::make_unique<plain_layer>(), {}, nullptr};
  }

  std::shared_ptr<heard> what = std::make_shared<heard>();
  std::shared_ptr<gate> lives = std::make_shared<gate>();
  coordinator_actor handle;
  file_descriptor far;
};

std::string beat_bytes(std::uint64_t number, std::uint64_t answer_bytes = 0, bool leaves = false) {
  return encode(cluster_beat{.number = number, .is_leaving = leaves, .hunger = answer_bytes});
}

bool has_ended(waiting_link& x) {
  try {
    for (;;)
      x.receive(rules_to(link_role::rank), within(soon));
  } catch (const error& problem) {
    return contains(problem.what(), "ended") || contains(problem.what(), "reset")
           || contains(problem.what(), "Broken pipe");
  }
}

/// Two ends of TLS that have shaken hands: of who dials, and of who is dialed.
std::pair<std::unique_ptr<tls_session>, std::unique_ptr<tls_session>>
shaken_ends(const std::shared_ptr<const certificates>& dials,
            const std::shared_ptr<const certificates>& accepts) {
  auto client = std::make_unique<tls_session>(dials, link_side::dials);
  auto server = std::make_unique<tls_session>(accepts, link_side::accepts);
  byte_buffer a;
  byte_buffer b;
  for (bool is_over = false; !is_over;) {
    auto bytes = std::exchange(b, {});
    std::string_view came{bytes.data(), bytes.size()};
    client->shake_hands(came, a);
    bytes = std::exchange(a, {});
    came = {bytes.data(), bytes.size()};
    is_over = server->shake_hands(came, b);
  }
  return {std::move(client), std::move(server)};
}

/// Sends bytes in pieces of these sizes.
void send_pieces(const file_descriptor& to, std::string_view bytes,
                 const std::function<std::size_t()>& size) {
  while (!bytes.empty()) {
    const auto n = ::send(to.get(), bytes.data(), std::min(size(), bytes.size()), MSG_NOSIGNAL);
    if (n > 0)
      bytes.remove_prefix(static_cast<std::size_t>(n));
    else
      std::this_thread::sleep_for(1ms); // the socket is full
  }
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

} // namespace

TEST_CASE("link: two actors talk through it as if they were in one process") {
  test::link_site site;
  const auto ours = site.make(link_role::coordinator);
  const auto theirs = site.make(link_role::rank);
  const logger_release released;
  for (const bool is_secured : {false, true}) {
    linked_lead x; // of which only the actor is used
    auto [near, far] = pair_of_sockets();
    auto dialed = peer_of(std::move(far), link_role::coordinator);
    auto accepted = peer_of(std::move(near), link_role::rank);
    if (is_secured) {
      auto [client, server] = shaken_ends(theirs, ours);
      dialed.layer = std::move(client);
      accepted.layer = std::move(server);
    }
    const auto words = std::make_shared<heard>();
    auto& on = node(1).system();
    link_to_peer(node(0).system(), std::move(accepted), x.handle, secret{"secret"}, {});
    const auto local = on.spawn(listener, words, coordinator_actor{});
    const auto to = link_to_coordinator(on, std::move(dialed), local, link_role::rank);
    caf::anon_send(to, cluster_hello{.host_name = "node9"});
    for (std::uint64_t i = 1; i <= 3; ++i)
      caf::anon_send(to, cluster_beat{.number = i});
    caf::anon_send(to, cluster_part{.bytes = std::string(1 << 20, 'p')});
    CHECK(words->becomes({"word 1", "word 2", "word 3"}));
    CHECK(x.what->becomes({"hello of node9", "beat 1", "beat 2", "beat 3", "part 1048576"}));
    caf::anon_send_exit(local, caf::exit_reason::user_shutdown);
    CHECK(
        x.what->becomes({"hello of node9", "beat 1", "beat 2", "beat 3", "part 1048576", "gone"}));
  }
}

TEST_CASE("link: an observer's questions are answered, and end with the connection") {
  const logger_release released;
  linked_lead x{link_role::observer};
  auto peer = peer_of(std::move(x.far), link_role::coordinator);
  const int socket = peer.socket.get();
  const auto to =
      link_to_coordinator(node(1).system(), std::move(peer), member_actor{}, link_role::observer);
  caf::scoped_actor self{node(1).system()};
  const auto life = [&] {
    std::uint64_t found = 0;
    self->request(to, soon, look_atom_v, std::string{"anything"})
        .receive([&](const cluster_status& now) { found = now.life; }, [](const caf::error&) {});
    return found;
  };
  CHECK(life() == 7);
  CHECK(life() == 7);
  self->monitor(to);
  ::shutdown(socket, SHUT_RDWR);
  bool is_down = false;
  self->receive([&](const caf::down_msg&) { is_down = true; },
                caf::after(caf::timespan{soon}) >> [] {});
  CHECK(is_down);
}

TEST_CASE("link: a frame that its role may not say ends it before anybody hears of it") {
  const auto is_refused = [](link_role role, frame_kind kind, const std::string& body) {
    linked_lead x{role};
    auto link = x.raw();
    (void)problem_of([&] { link.send(kind, 0, body, within(soon)); }); // or it has ended already
    return has_ended(link) && x.what->number() == 0;
  };
  CHECK(is_refused(link_role::observer, frame_kind::beat, beat_bytes(1)));
  CHECK(is_refused(link_role::observer, frame_kind::join, encode(cluster_hello{})));
  CHECK(is_refused(link_role::worker, frame_kind::beat, beat_bytes(1)));
  CHECK(is_refused(link_role::rank, frame_kind::look, ""));
  CHECK(is_refused(link_role::rank, frame_kind::word, encode(cluster_word{})));
  CHECK(
      is_refused(link_role::rank, frame_kind::hello, encode(link_hello{.role = link_role::rank})));
  CHECK(is_refused(link_role::rank, frame_kind::beat, "\xff\xff"));
  CHECK(is_refused(link_role::rank, frame_kind::beat, std::string(1'100'000, '\0')));
}

TEST_CASE("link: a peer that reads nothing is cut off") {
  linked_lead x;
  auto link = x.raw();
  link.send(frame_kind::join, 0, encode(cluster_hello{.host_name = "a"}), within(soon));
  try {
    for (std::uint64_t i = 0; i < 1000; ++i) // each asks for half a megabyte
      link.send(frame_kind::beat, 0, beat_bytes(i, 500'000), within(soon));
  } catch (const error&) { // the link has ended meanwhile
  }
  CHECK(has_ended(link));
  CHECK(x.what->number() < 1000);
}

TEST_CASE("link: what a coordinator says last is heard") {
  linked_lead x;
  auto link = x.raw();
  link.send(frame_kind::join, 0, encode(cluster_hello{.host_name = "a"}), within(soon));
  link.send(frame_kind::beat, 0, beat_bytes(1, 900'000, true), within(soon));
  for (std::uint64_t i = 2; i < 9; ++i) // which nobody hears any more
    link.send(frame_kind::beat, 0, beat_bytes(i), within(soon));
  const auto word =
      decode_message<cluster_word>(link.receive(rules_to(link_role::rank), within(soon)).body());
  CHECK(word->reason.size() == 900'000);
  CHECK(has_ended(link));
}

TEST_CASE("link: words that wait for the socket share records of TLS, the last ones too") {
  test::link_site site;
  const logger_release released;
  auto [client, server] =
      shaken_ends(site.make(link_role::rank), site.make(link_role::coordinator));
  linked_lead x; // of which only the actor is used
  auto [near, far] = pair_of_sockets();
  auto peer = peer_of(std::move(near), link_role::rank);
  peer.layer = std::move(server);
  link_to_peer(node(0).system(), std::move(peer), x.handle, secret{"secret"}, {});
  waiting_link link{std::move(far), std::move(client), {}, nullptr};
  link.send(frame_kind::join, 0, encode(cluster_hello{.host_name = "a"}), within(soon));
  constexpr std::uint64_t last = 300;
  for (std::uint64_t i = 1; i <= last; ++i) // the first word fills the socket
    link.send(frame_kind::beat, 0, beat_bytes(i, i == 1 ? 800'000 : i, i == last), within(soon));
  for (std::uint64_t i = 1; i <= last; ++i) {
    const auto word =
        decode_message<cluster_word>(link.receive(rules_to(link_role::rank), within(soon)).body());
    REQUIRE(word->echo == i);
    REQUIRE(word->reason.size() == (i == 1 ? 800'000 : i));
  }
  CHECK(has_ended(link));
}

TEST_CASE("link: what came before it has the socket is heard first") {
  const logger_release released;
  auto [near, far] = pair_of_sockets();
  auto peer = peer_of(std::move(near), link_role::rank);
  plain_layer plain;
  byte_buffer early;
  write_frame(plain, frame_kind::join, 0, encode(cluster_hello{.host_name = "early"}), early);
  const auto cut = early.size() / 2;
  peer.unread.assign(early.data(), cut);
  REQUIRE(::send(far.get(), early.data() + cut, early.size() - cut, 0) > 0);
  const auto what = std::make_shared<heard>();
  const auto handle = node(0).system().spawn(lead, what);
  link_to_peer(node(0).system(), std::move(peer), handle, secret{"secret"}, {});
  CHECK(what->becomes({"hello of early"}));
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
}

TEST_CASE("link: frames that come in pieces of any size are heard as they were said") {
  std::mt19937 draw{std::random_device{}()};
  linked_lead x;
  plain_layer plain;
  byte_buffer bytes;
  std::vector<std::string> wanted;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto size = draw() % 3 == 0 ? draw() % 200'000 : draw() % 40;
    write_frame(plain, frame_kind::part, 0, encode(cluster_part{.bytes = std::string(size, 'p')}),
                bytes);
    wanted.push_back("part " + std::to_string(size));
  }
  send_pieces(x.far, {bytes.data(), bytes.size()},
              [&] { return 1 + (draw() % 2 == 0 ? draw() % 20 : draw() % 100'000); });
  CHECK(x.what->becomes(wanted));
}

TEST_CASE("link: what TLS has decrypted before it has the socket is heard first") {
  test::link_site site;
  const logger_release released;
  auto [client, server] =
      shaken_ends(site.make(link_role::rank), site.make(link_role::coordinator));
  plain_layer plain;
  byte_buffer words;
  for (const char* name : {"one", "two"})
    write_frame(plain, frame_kind::join, 0, encode(cluster_hello{.host_name = name}), words);
  byte_buffer sent;
  client->write({words.data(), words.size()}, sent); // in one record
  std::string_view came{sent.data(), sent.size()};
  std::string first(16 + header_at(words.data()).length, '\0');
  byte_buffer out;
  REQUIRE(server->read(came, first, out) == first.size());
  REQUIRE(came.empty());
  auto [near, far] = pair_of_sockets();
  auto peer = peer_of(std::move(near), link_role::rank);
  peer.layer = std::move(server);
  const auto what = std::make_shared<heard>();
  const auto handle = node(0).system().spawn(lead, what);
  link_to_peer(node(0).system(), std::move(peer), handle, secret{"secret"}, {});
  CHECK(what->becomes({"hello of two"}));
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
}

TEST_CASE("link: a peer that stops speaking is gone, and others are not concerned") {
  linked_lead x;
  linked_lead y;
  auto link = x.raw();
  auto other = y.raw();
  for (auto* one : {&link, &other})
    one->send(frame_kind::join, 0, encode(cluster_hello{.host_name = "a"}), within(soon));
  REQUIRE(x.what->becomes({"hello of a"}));
  auto [socket, layer] = std::move(link).release();
  ::shutdown(socket.get(), SHUT_WR);
  CHECK(x.what->becomes({"hello of a", "gone"}));
  CHECK(test::read_to_end(socket) == "");
  other.send(frame_kind::beat, 0, beat_bytes(1), within(soon));
  CHECK(other.receive(rules_to(link_role::rank), within(soon)).kind() == frame_kind::word);
}

TEST_CASE("link: a peer that says more than a coordinator can hear is cut off") {
  struct slow {
    static coordinator_actor::behavior_type lead(coordinator_actor::pointer self,
                                                 std::shared_ptr<std::atomic<int>> heard) {
      self->set_down_handler([](const caf::down_msg&) {});
      return {[heard](const cluster_hello&) { ++*heard; },
              [heard](const cluster_beat&) {
                ++*heard;
                std::this_thread::sleep_for(5ms);
              },
              // Longer than a sanitized link takes to read one on a busy machine.
              [](const cluster_part&) { std::this_thread::sleep_for(50ms); },
              [](stored_atom, std::uint64_t, std::uint64_t, const std::string&) {},
              [](tick_atom) {},
              [](look_atom, const std::string&) -> caf::result<cluster_status> {
                std::this_thread::sleep_for(5ms);
                return cluster_status{};
              }};
    }
  };
  const auto is_cut = [](link_role role, frame_kind kind, const std::string& body, int times) {
    const logger_release released;
    const auto heard = std::make_shared<std::atomic<int>>(0);
    auto [near, far] = pair_of_sockets();
    const auto handle = node(0).system().spawn(slow::lead, heard);
    link_to_peer(node(0).system(), peer_of(std::move(near), role), handle, secret{"secret"}, {});
    waiting_link link{std::move(far), std::make_unique<plain_layer>(), {}, nullptr};
    const auto problem = problem_of([&] {
      for (int i = 0; i < times; ++i)
        link.send(kind, 0, body, within(soon));
      link.receive(frame_rules{}.allow(frame_kind::status, 1 << 20), within(2s));
      for (int i = 0; i < 60; ++i)
        link.receive(frame_rules{}.allow(frame_kind::status, 1 << 20), within(2s));
    });
    caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
    return problem && !contains(problem->what(), "no answer in time");
  };
  CHECK(is_cut(link_role::rank, frame_kind::beat, beat_bytes(1), 3000));
  CHECK(is_cut(link_role::observer, frame_kind::look, {}, 200));
  CHECK(is_cut(link_role::rank, frame_kind::part,
               encode(cluster_part{.bytes = std::string(1 << 20, 'p')}), 30));
  CHECK_FALSE(is_cut(link_role::rank, frame_kind::beat, beat_bytes(1), 900));
  CHECK_FALSE(is_cut(link_role::observer, frame_kind::look, {}, 60));
}

TEST_CASE("link: a peer that waits for answers may say more than a coordinator hears at once") {
  linked_lead x;
  auto link = x.raw();
  link.send(frame_kind::join, 0, encode(cluster_hello{.host_name = "a"}), within(soon));
  for (std::uint64_t i = 0; i < 1500; ++i) {
    link.send(frame_kind::beat, 0, beat_bytes(i), within(soon));
    const auto word =
        decode_message<cluster_word>(link.receive(rules_to(link_role::rank), within(soon)).body());
    REQUIRE(word->echo == i);
  }
}

TEST_CASE("link: begins and ends take no time and no descriptors, whatever is unsent or unread") {
  { const linked_lead warm; }
  std::this_thread::sleep_for(100ms);
  const auto before = open_descriptors();
  for (int i = 0; i < (test::sanitized ? 20 : 200); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    {
      linked_lead x;
      auto link = x.raw();
      if (i % 2 == 0) { // words that nobody reads, and beats that nobody has read yet
        link.send(frame_kind::join, 0, encode(cluster_hello{.host_name = "a"}), within(soon));
        for (std::uint64_t k = 0; k < 4; ++k)
          link.send(frame_kind::beat, 0, beat_bytes(k, 500'000), within(soon));
      }
    }
    CHECK(std::chrono::steady_clock::now() - begin < 8s); // it would wait 10 s for the link
  }
  for (int i = 0; i < 100 && open_descriptors() != before; ++i)
    std::this_thread::sleep_for(20ms);
  CHECK(open_descriptors() == before);
}

} // namespace leat::link_test
