#include "runtime/network/certs/certificate_files.hpp"
#include "runtime/network/links/refusal_log.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/test.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <ctime>

namespace leat::port_guard_test {
namespace {

using namespace test;
using namespace std::chrono_literals;

const ip_address here = parse_ip("127.0.0.1").value();

guard_config plain_config() {
  return {.at = here,
          .rules = {.roles = {link_role::rank, link_role::observer},
                    .token = secret{"right"},
                    .version = "1.0"}};
}

link_hello hello(link_role role = link_role::rank, const std::string& token = "right") {
  return {.version = "0.9", .role = role, .token = secret{token}};
}

/// A guard with all that hears of it. Rules and certificates are set before it begins.
struct guarded {
  explicit guarded(guard_config config = plain_config()) {
    config.log = log.handler();
    guard.emplace(std::move(config));
    guard->begin([this](connected_peer x) { peers.add(std::move(x)); });
  }

  dial_wish wish(std::shared_ptr<const certificates> own = {}) const {
    return {.to = {"127.0.0.1", guard->port()}, .own = std::move(own), .hello = hello()};
  }

  admitted_peers peers;
  heard_lines log;
  std::optional<port_guard> guard;
};

guard_config secured_config(const link_site& site) {
  auto config = plain_config();
  config.certificates = std::make_shared<renewed_certificates>(
      site.issue("coordinator", {link_role::coordinator}, {"127.0.0.1", "localhost"}),
      link_role::coordinator, seconds_now());
  return config;
}

std::string refusal(const dial_wish& wish) {
  const auto problem = thrown_by([&] { dial_peer(wish, nullptr); });
  CHECK(problem.code() == errc::cluster);
  return problem.what();
}

std::string bytes_of_frame(frame_kind kind, const std::string& body) {
  plain_layer plain;
  byte_buffer out;
  write_frame(plain, kind, 0, body, out);
  return {out.begin(), out.end()};
}

/// Both ends of a connection say something. One has been dialed before the other is taken.
void talk(connected_peer one, connected_peer other) {
  waiting_link a{std::move(one.socket), std::move(one.layer), one.unread, nullptr};
  waiting_link b{std::move(other.socket), std::move(other.layer), other.unread, nullptr};
  for (const std::size_t size : {0, 5, 200'000}) {
    frame x;
    {
      const std::jthread sender(
          [&] { a.send(frame_kind::beat, size, std::string(size, 'x'), within(soon)); });
      x = b.receive(frame_rules{}.allow(frame_kind::beat, 200'000), within(soon));
    }
    CHECK(x.head.number == size);
    CHECK(x.body() == std::string(size, 'x'));
    b.send(frame_kind::word, 1, "answer", within(soon));
    CHECK(a.receive(rules_to(link_role::rank), within(soon)).body() == "answer");
  }
}

/// Dials a guard, and talks to it.
void talk(guarded& to, const dial_wish& wish) {
  auto mine = dial_peer(wish, nullptr);
  auto theirs = to.peers.next();
  talk(std::move(mine), std::move(theirs));
}

std::size_t open_descriptors() {
  std::size_t n = 0;
  for (const auto& x : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    (void)x;
    ++n;
  }
  return n;
}

std::size_t resident_kilobytes() {
  std::ifstream in{"/proc/self/statm"};
  std::size_t pages = 0;
  in >> pages >> pages;
  return pages * 4;
}

} // namespace

TEST_CASE("port guard: a peer that says the right words is passed on, plain") {
  guarded x;
  auto mine = dial_peer(x.wish(), nullptr);
  auto theirs = x.peers.next();
  CHECK(theirs.role == link_role::rank);
  CHECK(theirs.version == "0.9");
  CHECK(mine.version == "1.0");
  CHECK(mine.protocol == newest_link_protocol);
  CHECK(theirs.address.starts_with("127.0.0.1:"));
  talk(std::move(mine), std::move(theirs));
}

TEST_CASE("port guard: a peer that says the right words is passed on, with certificates") {
  link_site site;
  guarded x{secured_config(site)};
  const auto own = site.make(link_role::rank);
  talk(x, x.wish(own));
  auto by_name = x.wish(own);
  by_name.to.host = "localhost";
  talk(x, by_name);
}

TEST_CASE("port guard: without certificates it is loopback's, unless the user says insecure") {
  auto config = plain_config();
  config.at = ip_address{};
  const auto problem = thrown_by([&] { port_guard x{std::move(config)}; });
  CHECK(problem.code() == errc::invalid_argument);
  CHECK(has(problem.what(), "no certificates"));
  config = plain_config();
  config.at = ip_address{};
  config.is_insecure = true;
  port_guard open{std::move(config)};
  link_site site;
  config = secured_config(site);
  config.at = ip_address{};
  port_guard secured{std::move(config)};
  config = plain_config();
  config.port = secured.port();
  CHECK(code_of([&] { port_guard twice{std::move(config)}; }) == errc::io);
}

TEST_CASE("port guard: whoever does not know the token is not answered") {
  link_site site;
  const auto own = site.make(link_role::rank);
  for (const bool is_secured : {false, true}) {
    guarded x{is_secured ? secured_config(site) : plain_config()};
    auto wish = x.wish(is_secured ? own : nullptr);
    for (const auto* token : {"", "wrong", "rightt"}) {
      wish.hello = hello(link_role::rank, token);
      CHECK(has(refusal(wish), "LEAT_CLUSTER_TOKEN"));
    }
    CHECK(x.log.wait("a wrong token"));
    CHECK(x.peers.number() == 0);
  }
  guarded plain;
  const auto socket = connect_here(plain.guard->port());
  const auto bytes = bytes_of_frame(frame_kind::hello, encode(hello(link_role::rank, "no")));
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  CHECK(read_to_end(socket) == "");
}

TEST_CASE("port guard: an older and a newer process are told so") {
  auto config = plain_config();
  config.rules.least_protocol = 5;
  config.rules.newest_protocol = 6;
  guarded x{std::move(config)};
  auto wish = x.wish();
  const auto reason = [&](std::uint32_t least, std::uint32_t newest) {
    wish.hello.least_protocol = least;
    wish.hello.protocol = newest;
    try {
      const auto peer = dial_peer(wish, nullptr);
      return "protocol " + std::to_string(peer.protocol);
    } catch (const link_refused& problem) {
      CHECK(has(problem.what(), "leat 0.9"));
      CHECK(has(problem.what(), "leat 1.0"));
      return std::string{problem.reason() == refusal_reason::too_old ? "too old" : "too new"};
    }
  };
  CHECK(reason(1, 4) == "too old");
  CHECK(reason(7, 9) == "too new");
  CHECK(reason(1, 5) == "protocol 5");
  CHECK(reason(6, 9) == "protocol 6");
}

TEST_CASE("port guard: roles are those of the certificate, and those that the port is for") {
  link_site site;
  guarded x{secured_config(site)};
  auto wish = x.wish(site.make(link_role::observer));
  CHECK(has(refusal(wish), "is not one for a rank, its roles are: observer"));
  wish.hello = hello(link_role::observer);
  dial_peer(wish, nullptr);
  CHECK(x.peers.next().role == link_role::observer);
  wish = x.wish(site.make(link_role::worker));
  wish.hello = hello(link_role::worker);
  CHECK(has(refusal(wish), "a process that admits: rank, observer"));
}

TEST_CASE("port guard: whoever dials makes sure whom it has reached") {
  link_site site;
  link_site other;
  guarded x{secured_config(site)};
  auto wish = x.wish(site.make(link_role::rank));
  wish.to.host = "127.0.0.2"; // loopback, and not among the certificate's hosts
  CHECK(code_of([&] { dial_peer(wish, nullptr); }) == errc::cluster);
  wish = x.wish(site.make(link_role::rank));
  wish.expected = link_role::rank;
  CHECK(has(refusal(wish), "whose roles are: coordinator"));
  CHECK(
      has(refusal(x.wish(other.make(link_role::rank))), "unable to get local issuer certificate"));
  CHECK(has(refusal(x.wish()), "who has not answered")); // without TLS
  guarded plain;
  CHECK(code_of([&] { dial_peer(plain.wish(site.make(link_role::rank)), nullptr); })
        == errc::cluster);
  CHECK(x.peers.number() == 0);
  CHECK(plain.peers.number() == 0);
  wish = x.wish();
  wish.to.port = 1;
  CHECK(has(refusal(wish), "127.0.0.1:1: Connection refused"));
}

TEST_CASE("port guard: a dialer with another authority's certificate hears why") {
  link_site site;
  link_site other;
  guarded x{secured_config(site)};
  // It trusts this authority, but has a certificate of another one.
  const auto odd = other.issue("rank", {link_role::rank});
  odd_certificate own;
  own.certificate = std::move(read_certificates(odd + "/cert.pem").front());
  own.key = read_key(odd + "/key.pem", *own.certificate);
  const auto authority = std::move(read_certificates(site.at / "ca.pem").front());
  const auto context = odd_context(authority.get(), &own);
  const openssl_ptr<SSL> ssl{SSL_new(context.get())};
  const auto socket = connect_here(x.guard->port());
  SSL_set_fd(ssl.get(), socket.get());
  SSL_connect(ssl.get());
  char nothing = 0;
  CHECK(SSL_read(ssl.get(), &nothing, 1) <= 0);
  CHECK(openssl_words() == "tlsv1 alert unknown ca");
  CHECK(x.log.wait("unable to get local issuer certificate"));
}

TEST_CASE(
    "port guard: half-open and slow connections are closed in time, and nobody waits for them") {
  link_site site;
  for (const bool is_secured : {false, true}) {
    auto config = is_secured ? secured_config(site) : plain_config();
    config.patience = 700ms;
    guarded x{std::move(config)};
    std::vector<file_descriptor> silent;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 20; ++i)
      silent.push_back(connect_here(x.guard->port()));
    std::jthread slow([&] { // one byte at a time
      const auto socket = connect_here(x.guard->port());
      const auto bytes = bytes_of_frame(frame_kind::hello, encode(hello()));
      for (const char byte : bytes) {
        if (::send(socket.get(), &byte, 1, MSG_NOSIGNAL) != 1)
          return;
        std::this_thread::sleep_for(100ms);
      }
    });
    talk(x, x.wish(is_secured ? site.make(link_role::rank) : nullptr));
    for (const auto& socket : silent)
      CHECK(read_to_end(socket) == "");
    slow.join();
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
    CHECK(x.log.wait("no hello in time"));
    CHECK(x.peers.number() == 0);
  }
}

TEST_CASE("port guard: more strangers than places keep nobody out") {
  auto config = plain_config();
  config.most_unknown = 8;
  guarded x{std::move(config)};
  std::vector<file_descriptor> silent;
  for (int i = 0; i < 200; ++i)
    silent.push_back(connect_here(x.guard->port()));
  talk(x, x.wish());
  CHECK(x.log.wait("too many connections at a time"));
}

TEST_CASE("port guard: whoever is refused and stays makes room for others at once") {
  auto config = plain_config();
  config.most_unknown = 4;
  config.patience = 60s;
  guarded x{std::move(config)};
  std::vector<file_descriptor> refused;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 400; ++i) {
    refused.push_back(connect_here(x.guard->port()));
    ::send(refused.back().get(), "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
  }
  talk(x, x.wish());
  // With four places it would take 15 s if each had its time.
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("port guard: no more peers than it may have are admitted, and the others are told so") {
  auto config = plain_config();
  config.most_admitted = 2;
  guarded x{std::move(config)};
  auto first = dial_peer(x.wish(), nullptr);
  auto second = dial_peer(x.wish(), nullptr);
  auto one = x.peers.next();
  auto two = x.peers.next();
  CHECK(has(refusal(x.wish()), "too many connections"));
  one = {};
  dial_peer(x.wish(), nullptr);
  x.peers.next();
}

TEST_CASE("port guard: observers take no rank's place, and ranks no observer's") {
  auto config = plain_config();
  config.most_admitted = 8;
  guarded x{std::move(config)};
  auto looks = x.wish();
  looks.hello = hello(link_role::observer);
  std::vector<connected_peer> admitted;
  const auto dial = [&](const dial_wish& wish) {
    dial_peer(wish, nullptr);
    admitted.push_back(x.peers.next());
  };
  const bool observers_first = GENERATE(true, false);
  if (observers_first)
    dial(looks);
  for (int i = 0; i < 7; ++i)
    dial(x.wish());
  if (!observers_first)
    dial(looks);
  CHECK(has(refusal(looks), "too many connections"));
  CHECK(has(refusal(x.wish()), "too many connections"));
}

TEST_CASE("port guard: whatever strangers say, nobody is admitted, and little memory is taken") {
  link_site site;
  const auto own = site.make(link_role::rank);
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 draw{seed};
  const auto right = bytes_of_frame(frame_kind::hello, encode(hello()));
  for (const bool is_secured : {false, true}) {
    guarded x{is_secured ? secured_config(site) : plain_config()};
    talk(x, x.wish(is_secured ? own : nullptr));
    const auto memory = resident_kilobytes();
    for (int i = 0; i < 300; ++i) {
      const auto socket = connect_here(x.guard->port());
      std::string bytes;
      switch (i % 4) {
      case 0: // noise
        bytes.resize(draw() % 4000);
        for (auto& byte : bytes)
          byte = static_cast<char>(draw());
        break;
      case 1: // a hello with a flipped bit, in its kind or length or in the token
        bytes = right;
        bytes[i % 8 < 4 ? draw() % 8 : bytes.size() - 1 - draw() % 5] ^=
            static_cast<char>(1U << draw() % 8);
        break;
      case 2: // a header that promises much
        bytes = right.substr(0, 16);
        bytes[draw() % 4] = static_cast<char>(0xff);
        break;
      default: // cut
        bytes = right.substr(0, draw() % right.size());
      }
      (void)!::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    talk(x, x.wish(is_secured ? own : nullptr));
    CHECK(x.peers.number() == 0);
    if (!sanitized)
      CHECK(resident_kilobytes() < memory + 20'000);
  }
}

TEST_CASE("port guard: words after the hello, and before the welcome, end the connection") {
  guarded x;
  const auto socket = connect_here(x.guard->port());
  const auto bytes = bytes_of_frame(frame_kind::hello, encode(hello())) + "x";
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  CHECK(read_to_end(socket) == "");
  CHECK(x.log.wait("words after a hello"));
  CHECK(x.peers.number() == 0);
}

TEST_CASE("port guard: new certificates are used from the next connection on") {
  link_site site;
  link_site other;
  heard_notices heard;
  guarded x{secured_config(site)};
  const auto at = site.at / "coordinator";
  const auto old = site.make(link_role::rank);
  auto kept = dial_peer(x.wish(old), nullptr);
  auto theirs = x.peers.next();
  // Wrong ones: the old ones stay.
  const auto key = content_of(at + "/key.pem");
  write_content(at + "/key.pem", "none");
  dial_peer(x.wish(old), nullptr);
  x.peers.next();
  CHECK(heard.number() == 1);
  // Those of another authority.
  const auto from = other.issue("coordinator", {link_role::coordinator});
  for (const auto* file : {"/ca.pem", "/key.pem", "/cert.pem"})
    write_content(at + file, content_of(from + file));
  dial_peer(x.wish(other.make(link_role::rank)), nullptr);
  x.peers.next();
  CHECK(code_of([&] { dial_peer(x.wish(old), nullptr); }) == errc::cluster);
  talk(std::move(kept), std::move(theirs));
}

TEST_CASE("port guard: it begins and ends at once, and leaves no descriptors") {
  link_site site;
  const auto own = site.make(link_role::rank);
  guarded{}; // what is made once
  const auto before = open_descriptors();
  const int rounds = sanitized ? 20 : 200;
  for (int i = 0; i < rounds; ++i) {
    std::vector<file_descriptor> strangers;
    std::optional<connected_peer> mine;
    std::chrono::steady_clock::time_point begin;
    {
      guarded x{i % 2 == 0 ? secured_config(site) : plain_config()};
      for (int k = 0; k < 3; ++k)
        strangers.push_back(connect_here(x.guard->port()));
      (void)!::send(strangers.back().get(), "\x16\x03\x01", 3, MSG_NOSIGNAL);
      mine = dial_peer(x.wish(i % 2 == 0 ? own : nullptr), nullptr);
      begin = std::chrono::steady_clock::now();
    }
    CHECK(std::chrono::steady_clock::now() - begin < 2s); // a stranger's time would be over in 3 s
    for (const auto& socket : strangers)
      CHECK(read_to_end(socket) == "");
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("port guard: a process without descriptors goes on when it has some again") {
  guarded x;
  // Made before there are none, and checked after: the sanitizer looks at objects through a pipe.
  const auto bytes = bytes_of_frame(frame_kind::hello, encode(hello()));
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  std::vector<file_descriptor> taken;
  std::thread dialing;
  {
    auto client = connect_here(x.guard->port()); // before there are none
    (void)client;
    while (taken.size() < 2000) {
      file_descriptor one{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
      if (!one)
        break;
      taken.push_back(std::move(one));
      if (taken.size() == 100) {
        auto low = limit;
        low.rlim_cur = static_cast<rlim_t>(taken.back().get()) + 10;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
      }
    }
    taken.pop_back();
    auto late = connect_here(x.guard->port()); // takes the last one: the guard cannot accept it
    ::send(late.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const auto used = std::clock();
    std::this_thread::sleep_for(400ms);
    const auto used_since = std::clock() - used;
    const auto peers = x.peers.number();
    taken.clear();
    ::setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(used_since < CLOCKS_PER_SEC / 5); // it does not try again and again
    CHECK(peers == 0);
    CHECK(x.peers.next().role == link_role::rank);
  }
}

TEST_CASE("port guard: a dialer that is told to stop does so at once") {
  file_descriptor deaf{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  auto place = socket_address_of(here, 0);
  REQUIRE(::bind(deaf.get(), place.raw(), place.size) == 0);
  REQUIRE(::listen(deaf.get(), 1) == 0);
  REQUIRE(::getsockname(deaf.get(), place.raw(), &place.size) == 0);
  const wake_event stop;
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    stop.set();
  });
  const dial_wish wish{.to = {"127.0.0.1", place.port()}, .hello = hello()};
  CHECK(code_of([&] { dial_peer(wish, &stop); }) == errc::interrupted);
  other.join();
  auto impatient = wish;
  impatient.patience = 50ms;
  CHECK(has(refusal(impatient), "no answer in time"));
}

TEST_CASE("refusal log: strangers cannot fill it") {
  std::vector<std::string> lines;
  refusal_log log{[&](const std::string& x) { lines.push_back(x); }};
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i)
    log.add("10.0.0.9:1", "noise", begin + i * 1ms);
  CHECK(lines.size() == refusal_log::most_per_minute);
  CHECK(lines[0] == "refused a connection from 10.0.0.9:1: noise");
  log.add("10.0.0.9:1", "noise", begin + 61s);
  REQUIRE(lines.size() == refusal_log::most_per_minute + 2);
  CHECK(lines[10] == "refused 990 other connections");
}

} // namespace leat::port_guard_test
