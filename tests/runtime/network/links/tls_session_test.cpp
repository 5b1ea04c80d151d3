#include "runtime/network/certs/certificate_files.hpp"
#include "runtime/network/links/tls_session.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/odd_session.hpp"
#include "tests/support/test.hpp"

#include <openssl/err.h>

namespace leat::tls_session_test {
namespace {

using namespace test;

/// A session of ours, and the bytes on the way to it.
struct end_point {
  end_point(std::shared_ptr<const certificates> own, link_side side)
      : session(std::move(own), side) {}

  bool shake(byte_buffer& from) {
    const auto bytes = std::exchange(from, {});
    std::string_view came{bytes.data(), bytes.size()};
    return session.shake_hands(came, out);
  }
  std::string read(byte_buffer& from, std::size_t piece = 1000) {
    const auto bytes = std::exchange(from, {});
    std::string_view came{bytes.data(), bytes.size()};
    std::string text;
    for (std::string room(piece, '\0');;) {
      const auto n = session.read(came, room, out);
      if (n == 0)
        return text;
      text.append(room, 0, n);
    }
  }

  tls_session session;
  byte_buffer out;
};

struct pair_of_ends {
  pair_of_ends(std::shared_ptr<const certificates> a, std::shared_ptr<const certificates> b)
      : server(std::move(a), link_side::accepts), client(std::move(b), link_side::dials) {}

  /// Throws what the end throws that notices a fault first.
  void shake() {
    client.shake(server.out);
    server.shake(client.out);
    if (!client.shake(server.out) || !server.shake(client.out))
      throw std::runtime_error("an unfinished handshake");
  }

  end_point server;
  end_point client;
};

/// Lets a stranger talk to a server; gives what the server says of it.
std::string verdict_on(const std::shared_ptr<const certificates>& server,
                       openssl_ptr<SSL_CTX> stranger) {
  end_point one{server, link_side::accepts};
  odd_session other{*stranger};
  const auto problem = problem_of([&] {
    for (int i = 0; i < 4; ++i) {
      other.shake();
      const auto bytes = other.take();
      byte_buffer came{bytes.begin(), bytes.end()};
      if (one.shake(came)) {
        one.read(came);
        return;
      }
      other.give(std::exchange(one.out, {}));
    }
  });
  if (problem) {
    CHECK(problem->code() == errc::cluster);
    CHECK_FALSE(one.out.empty()); // the alert, which says why
  }
  return problem ? problem->details().got : "taken";
}

} // namespace

TEST_CASE("tls session: two ends with certificates of one authority understand each other") {
  link_site site;
  pair_of_ends x{site.make(link_role::coordinator), site.make(link_role::rank)};
  CHECK(x.server.session.peer() == nullptr);
  x.shake();
  CHECK(to_string(roles_of(*x.server.session.peer())) == "rank");
  CHECK(to_string(roles_of(*x.client.session.peer())) == "coordinator");
  CHECK(x.server.out.empty()); // no tickets: nothing can be resumed
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += static_cast<char>(i * 7);
  x.client.session.write(text, x.client.out);
  x.server.session.write("short", x.server.out);
  CHECK(x.server.read(x.client.out, 20'000) == text);
  CHECK(x.client.read(x.server.out) == "short");
}

TEST_CASE("tls session: bytes in pieces of any size are the same") {
  link_site site;
  pair_of_ends x{site.make(link_role::coordinator), site.make(link_role::rank)};
  x.shake();
  plain_layer plain;
  byte_buffer wanted;
  for (const std::size_t size : {0, 1, 16'368, 16'369, 50'000}) {
    write_frame(x.client.session, frame_kind::beat, size, std::string(size, 'x'), x.client.out);
    write_frame(plain, frame_kind::beat, size, std::string(size, 'x'), wanted);
  }
  const auto sent = std::exchange(x.client.out, {});
  std::string text;
  for (std::size_t i = 0; i < sent.size(); i += 333) {
    byte_buffer piece{sent.begin() + static_cast<long>(i),
                      sent.begin() + static_cast<long>(std::min(i + 333, sent.size()))};
    text += x.server.read(piece, 4096);
  }
  CHECK(text == std::string{wanted.begin(), wanted.end()});
}

TEST_CASE("tls session: nobody else is taken") {
  link_site site;
  link_site other;
  const auto server = site.make(link_role::coordinator);
  const auto read_odd = [](const std::string& directory, const std::string& key_of = {}) {
    const auto file = key_of.empty() ? directory : key_of;
    odd_certificate x;
    x.certificate = std::move(read_certificates(directory + "/cert.pem").front());
    x.key = read_key(file + "/key.pem", *x.certificate);
    return x;
  };
  const auto authority = std::move(read_certificates(site.at / "ca.pem").front());
  odd_certificate ca;
  ca.certificate = std::move(read_certificates(site.at / "ca.pem").front());
  ca.key = read_key(site.at / "ca-key.pem", *ca.certificate);
  const auto with = [&](const odd_certificate& own, int version = TLS1_3_VERSION) {
    return verdict_on(server, odd_context(authority.get(), &own, version));
  };
  const auto right = read_odd(site.issue("rank", {link_role::rank}));
  CHECK(with(right) == "taken");
  CHECK(has(with(right, TLS1_2_VERSION), "unsupported protocol"));
  CHECK(has(verdict_on(server, odd_context(authority.get(), nullptr)),
            "peer did not return a certificate"));
  CHECK(has(with(read_odd(other.issue("rank", {link_role::rank}))),
            "unable to get local issuer certificate"));
  CHECK(has(with(make_odd(&ca, {.from = -2000, .to = -1000})), "certificate has expired"));
  CHECK(has(with(make_odd(&ca, {.from = 1000, .to = 2000})), "certificate is not yet valid"));
  CHECK(has(with(make_odd(&right, {})), "issuer certificate"));
  CHECK(has(with(make_odd(nullptr, {})), "self-signed certificate"));
  CHECK(has(with(make_odd(&ca, {.usage = "serverAuth"})), "unsuitable certificate purpose"));
  auto slow = odd_context(authority.get(), &right);
  REQUIRE(SSL_CTX_set1_groups_list(slow.get(), "ffdhe8192:ffdhe2048") == 1);
  CHECK(has(verdict_on(server, std::move(slow)), "no suitable key share"));
  // An observer's is only for those who dial.
  const auto observer = site.make(link_role::observer);
  pair_of_ends reversed{observer, site.make(link_role::rank)};
  CHECK(has(thrown_by([&] { reversed.shake(); }).what(), "unsuitable certificate purpose"));
  pair_of_ends strange{other.make(link_role::coordinator), site.make(link_role::rank)};
  CHECK(code_of([&] { strange.shake(); }) == errc::cluster);
}

TEST_CASE("tls session: plain text and noise end it") {
  link_site site;
  const auto server = site.make(link_role::coordinator);
  for (const auto& text : std::vector<std::string>{
           std::string{"GET / HTTP/1.1\r\n\r\n"}, std::string(100, '\0'),
           std::string("\x16\x03\x01\xff\xff", 5) + std::string(200, '\xff')}) {
    end_point x{server, link_side::accepts};
    byte_buffer came{text.begin(), text.end()};
    CHECK(code_of([&] { x.shake(came); }) == errc::cluster);
  }
}

TEST_CASE(
    "tls session: a peer may renew its keys sometimes, and a flood of it ends the connection") {
  link_site site;
  end_point server{site.make(link_role::coordinator), link_side::accepts};
  const auto directory = site.issue("rank", {link_role::rank});
  odd_certificate own;
  own.certificate = std::move(read_certificates(directory + "/cert.pem").front());
  own.key = read_key(directory + "/key.pem", *own.certificate);
  const auto authority = std::move(read_certificates(directory + "/ca.pem").front());
  odd_session stranger{*odd_context(authority.get(), &own)};
  const auto pass = [&] {
    const auto bytes = stranger.take();
    byte_buffer came{bytes.begin(), bytes.end()};
    return came;
  };
  stranger.shake();
  auto came = pass();
  server.shake(came);
  stranger.give(std::exchange(server.out, {}));
  stranger.shake();
  came = pass();
  REQUIRE(server.shake(came));
  CHECK(SSL_renegotiate(stranger.ssl()) == 0);
  ERR_clear_error();
  for (int i = 0; i < 16; ++i) {
    REQUIRE(SSL_key_update(stranger.ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
    SSL_write(stranger.ssl(), "x", 1);
    came = pass();
    CHECK(server.read(came) == "x");
    stranger.give(std::exchange(server.out, {}));
    char nothing = 0;
    SSL_read(stranger.ssl(), &nothing, 1);
  }
  // Many in one piece: not all of them are looked at.
  for (int i = 0; i < 1000; ++i) {
    SSL_key_update(stranger.ssl(), SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(stranger.ssl());
  }
  came = pass();
  const auto problem = thrown_by([&] { server.read(came); });
  CHECK(has(problem.what(), "a flood of key updates"));
  CHECK(server.out.size() < 1000);
}

TEST_CASE("tls session: flipped, repeated and cut bytes end it") {
  link_site site;
  const auto server = site.make(link_role::coordinator);
  const auto rank = site.make(link_role::rank);
  for (int i = 0; i < 3; ++i) {
    pair_of_ends x{server, rank};
    x.shake();
    x.client.session.write("some text", x.client.out);
    auto bytes = x.client.out;
    if (i == 0)
      bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    else if (i == 1)
      bytes.insert(bytes.end(), x.client.out.begin(), x.client.out.end());
    else
      bytes.erase(bytes.begin() + 6);
    if (i == 2)
      bytes.insert(bytes.end(), 40, 'x');
    CHECK(code_of([&] { x.server.read(bytes); }) == errc::cluster);
  }
}

} // namespace leat::tls_session_test
