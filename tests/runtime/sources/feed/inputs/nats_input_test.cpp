#include "runtime/sources/feed/inputs/nats_input.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/queue_server.hpp"
#include "tests/support/read_queue.hpp"

namespace leat::nats_input_test {
namespace {

/// A server, and somebody who writes to it. `server` is empty where there is none.
struct nats_rig {
  std::string program = test::installed_server("nats-server");
  std::optional<test::queue_server> server;
  wake_event stop;
  std::optional<queue_session> writer;
  const std::string name = "writer";
  const std::string inbox = new_nats_inbox();

  std::shared_ptr<const server_trust> tls;

  /// `certificates`: a directory; empty: without TLS.
  explicit nats_rig(const std::string& certificates = {}) {
    if (program.empty()) {
      WARN("skipped: there is no nats-server here");
      return;
    }
    if (!certificates.empty())
      tls = std::make_shared<const server_trust>(
          "test", name,
          server_trust::files{.authorities = certificates + "/ca.pem",
                              .certificate = certificates + "/cert.pem",
                              .key = certificates + "/key.pem"});
    server.emplace(program, tls ? test::nats_with_tls(certificates, true)
                                : test::queue_server::command{test::nats_command_line});
    writer.emplace(
        queue_place{.name = name, .server = parse_address(server->at(), "test")},
        [this](queue_connection& x) {
          nats_talk{x, name, inbox}.greet({}, tls);
        },
        stop);
  }
  std::string url(const std::string& more = "") const {
    return (tls ? "tls://" : "nats://") + server->at() + "/S?patience=60" + more;
  }
  std::string ask(const std::string& subject, const std::string& payload) {
    std::string answer;
    writer->do_connected([&](queue_connection& x) {
      answer = nats_talk{x, name, inbox}.ask(subject, payload).value_or("");
    });
    return answer;
  }
  void make(const std::string& more = "") {
    ask("$JS.API.STREAM.CREATE.S",
        R"({"name":"S","subjects":["a.>"],"storage":"file")" + more + "}");
  }
  void add(const std::vector<std::string>& records) {
    for (const auto& x : records)
      ask("a.x", x);
  }
};

TEST_CASE("nats_input: what is read is what was added, through kills of the server and restarts of "
          "the feed, with a journal and without") {
  heard_notices heard;
  nats_rig rig;
  if (!rig.server)
    return;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    if (test::is_drawn(seed)) {
      rig.make(seed == 2 ? R"(,"retention":"workqueue")" : "");
      test::read_through_faults(
          *rig.server, rig.url(), [&](const auto& x) { rig.add(x); }, seed, seed != 3,
          seed != 3); // a killed server forgets acknowledgements
      rig.ask("$JS.API.STREAM.DELETE.S", "");
    }
}

TEST_CASE("nats_input: with TLS both sides show certificates, and one that is not for the server's "
          "host, or of another authority, is refused") {
  heard_notices heard;
  const test::link_site site;
  const test::link_site stranger;
  const auto own = site.issue("server", {link_role::rank}, {"127.0.0.1"});
  nats_rig rig{own};
  if (!rig.server)
    return;
  rig.make();
  const auto shown = "&cert=" + own + "/cert.pem&key=" + own + "/key.pem";
  std::vector<std::string> all{"a", std::string(900'000, 'b'), "c"};
  rig.add(all);
  test::read_queue queue{rig.url("&ca=" + own + "/ca.pem" + shown)};
  REQUIRE(queue.wait_for(3));
  queue.acknowledge(2);
  rig.server->kill();
  rig.server->start();
  all.emplace_back("d");
  rig.add({"d"});
  REQUIRE(queue.wait_for(4));
  CHECK(queue.contents() == all);
  const auto failure_at = [&](const std::string& host, const std::string& more) {
    const auto port = std::to_string(rig.server->port());
    test::read_queue x{"tls://" + host + ':' + port + "/S?patience=1" + more};
    return x.wait_for_failure();
  };
  CHECK(has(failure_at("127.0.0.1", "&ca=" + stranger.at / "ca.pem" + shown), "certificate"));
  CHECK(has(failure_at("localhost", "&ca=" + own + "/ca.pem" + shown), "mismatch"));
  CHECK(has(failure_at("127.0.0.1", "&ca=" + own + "/ca.pem"), "for 1 second"));
}

TEST_CASE("nats_input: messages larger than what is asked for at once, and of other subjects") {
  nats_rig rig;
  if (!rig.server)
    return;
  rig.make();
  std::vector<std::string> all;
  for (int i = 0; i < 12; ++i)
    all.push_back(std::string(i % 3 == 0 ? 900'000 : 10, static_cast<char>('a' + i)));
  rig.add(all);
  rig.ask("a.other", "x");
  rig.add({"last"});
  test::read_queue queue{rig.url("&subject=a.x")};
  all.emplace_back("last");
  REQUIRE(queue.wait_for(all.size()));
  CHECK(queue.contents() == all);
  test::read_queue other{rig.url("&consumer=b&subject=a.other")};
  REQUIRE(other.wait_for(1));
  CHECK(other.contents() == std::vector<std::string>{"x"});
  test::read_queue differs{rig.url("&consumer=b")};
  CHECK(has(differs.wait_for_failure(), "other settings"));
}

TEST_CASE("nats_input: what another process was given comes all the same") {
  nats_rig rig;
  if (!rig.server)
    return;
  rig.make();
  rig.add({"a"});
  test::read_queue queue{rig.url()};
  REQUIRE(queue.wait_for(1));
  queue.close();
  while (!has(rig.ask("$JS.API.CONSUMER.INFO.S.leat", ""), "\"num_waiting\":0")) {
  } // or the server gives these to whoever it does not know to be gone
  rig.add({"b", "c"});
  rig.writer->do_connected([&](queue_connection& x) {
    nats_talk talk{x, rig.name, rig.inbox};
    talk.send("$JS.API.CONSUMER.MSG.NEXT.S.leat", 0, R"({"batch":1,"no_wait":true})");
    const auto given = talk.next(std::chrono::steady_clock::now() + std::chrono::seconds{20});
    REQUIRE(given);
    CHECK(given->payload == "b");
  });
  rig.add({"d"});
  queue.open();
  REQUIRE(queue.wait_for(4));
  CHECK(queue.contents() == std::vector<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("nats_input: messages that were removed before they were read are an error, and so is a "
          "stream that has lost what was read") {
  heard_notices heard;
  nats_rig rig;
  if (!rig.server)
    return;
  rig.make();
  rig.add({"a", "b"});
  test::read_queue queue{rig.url()};
  REQUIRE(queue.wait_for(2));
  queue.close();
  rig.add({"c", "d"});
  rig.ask("$JS.API.STREAM.PURGE.S", R"({"seq":4})");
  queue.open();
  CHECK(has(queue.wait_for_failure(), "first message is 4"));
  queue.close();
  rig.ask("$JS.API.STREAM.DELETE.S", "");
  rig.make();
  rig.add({"other"});
  auto input = feed_input_of(rig.url());
  const auto failure = thrown_by([&] { input->begin("2")->take([](const placed_record&) {}); });
  CHECK(has(failure.what(), "last message is 1"));
  CHECK(has(failure.what(), "message 2 was read"));
}

TEST_CASE("nats_input: a place that is no number is refused, and so are names that are none") {
  const auto input = feed_input_of("nats://127.0.0.1/S");
  CHECK(code_of([&] { input->begin("17-1"); }) == errc::mismatch);
  CHECK(code_of([] { feed_input_of("nats://127.0.0.1/"); }) == errc::invalid_argument);
  CHECK(code_of([] { feed_input_of("nats://127.0.0.1/a.b"); }) == errc::invalid_argument);
}

} // namespace
} // namespace leat::nats_input_test
