#include "runtime/sources/feed/inputs/redis_input.hpp"
#include "runtime/sources/feed/inputs/redis_talk.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/queue_server.hpp"
#include "tests/support/read_queue.hpp"

#include <leat/sample.hpp>

namespace leat::redis_input_test {
namespace {

/// A server, and somebody who writes to it. `server` is empty where there is none.
struct redis_rig {
  std::string program = test::installed_server("redis-server");
  std::optional<test::queue_server> server;
  wake_event stop;
  std::optional<queue_session> writer;
  const std::string name = "writer";

  std::shared_ptr<const server_trust> tls;

  /// `certificates`: a directory; empty: without TLS.
  explicit redis_rig(const std::string& certificates = {}) {
    if (program.empty()) {
      WARN("skipped: there is no redis-server here");
      return;
    }
    if (!certificates.empty())
      tls = std::make_shared<const server_trust>(
          "test", name,
          server_trust::files{.authorities = certificates + "/ca.pem",
                              .certificate = certificates + "/cert.pem",
                              .key = certificates + "/key.pem"});
    server.emplace(program, tls ? test::redis_with_tls(certificates, true)
                                : test::queue_server::command{test::redis_command_line});
    writer.emplace(
        queue_place{.name = name, .server = parse_address(server->at(), "test")},
        [this](queue_connection& x) {
          if (tls)
            x.secure(tls);
        },
        stop);
  }
  std::string url(const std::string& more = "") const {
    return (tls ? "rediss://" : "redis://") + server->at() + "/stream?patience=60" + more;
  }
  /// Until the server takes it.
  std::string command(const std::vector<std::string_view>& words) {
    std::string said;
    writer->do_connected([&](queue_connection& x) {
      const auto reply = redis_talk{x, name}.demand(words);
      said = reply.is == redis_reply::kind::number ? std::to_string(reply.number)
                                                   : std::string{reply.bytes};
    });
    return said;
  }
  void add(const std::vector<std::string>& records) {
    for (const auto& x : records)
      command({"XADD", "stream", "*", "data", x});
  }
};

TEST_CASE(
    "redis_input: what is read is what was added, through kills of the server and restarts of "
    "the feed, with a journal and without") {
  heard_notices heard;
  redis_rig rig;
  if (!rig.server)
    return;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    if (test::is_drawn(seed)) {
      rig.command({"DEL", "stream"});
      test::read_through_faults(
          *rig.server, rig.url("&field=data"), [&](const auto& x) { rig.add(x); }, seed);
    }
}

TEST_CASE(
    "redis_input: with TLS both sides show certificates, and one that is not for the server's "
    "host, or of another authority, is refused") {
  heard_notices heard;
  const test::link_site site;
  const test::link_site stranger;
  const auto own = site.issue("server", {link_role::rank}, {"127.0.0.1"});
  redis_rig rig{own};
  if (!rig.server)
    return;
  const auto shown = "&cert=" + own + "/cert.pem&key=" + own + "/key.pem";
  std::vector<std::string> all{"a", std::string(900'000, 'b'), "c"};
  rig.add(all);
  test::read_queue queue{rig.url("&field=data&ca=" + own + "/ca.pem" + shown)};
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
    test::read_queue x{"rediss://" + host + ':' + port + "/stream?patience=1" + more};
    return x.wait_for_failure();
  };
  CHECK(has(failure_at("127.0.0.1", "&ca=" + stranger.at / "ca.pem" + shown), "certificate"));
  CHECK(has(failure_at("localhost", "&ca=" + own + "/ca.pem" + shown), "mismatch"));
  CHECK(has(failure_at("127.0.0.1", "&ca=" + own + "/ca.pem"), "for 1 second"));
}

TEST_CASE("redis_input: without a field, a record is a sample with all of an entry's") {
  redis_rig rig;
  if (!rig.server)
    return;
  rig.command({"XADD", "stream", "*", "image", std::string("\0\1\n", 3), "label", "7"});
  test::read_queue queue{rig.url()};
  REQUIRE(queue.wait_for(1));
  const auto bytes = queue.contents()[0];
  sample x;
  set_fields(x, std::as_bytes(std::span{bytes}));
  CHECK(x.text("image") == std::string("\0\1\n", 3));
  CHECK(x.text("label") == "7");
  test::read_queue other{rig.url("&group=b&field=absent")};
  CHECK(has(other.wait_for_failure(), "has no field \"absent\""));
}

TEST_CASE("redis_input: entries that were trimmed before they were read are an error, also after a "
          "restart, until their loss is accepted") {
  redis_rig rig;
  if (!rig.server)
    return;
  rig.add({"a", "b", "c"});
  test::read_queue queue{rig.url("&field=data")};
  REQUIRE(queue.wait_for(3));
  queue.close();
  rig.add({"d", "e", "f", "g"});
  rig.command({"XTRIM", "stream", "MAXLEN", "2"});
  for (int i = 0; i < 2; ++i) {
    queue.open();
    CHECK(has(queue.wait_for_failure(), "2 entries"));
    queue.close();
  }
  rig.command({"XGROUP", "SETID", "stream", "leat", queue.last_place()});
  queue.open();
  REQUIRE(queue.wait_for(5));
  CHECK(queue.contents() == std::vector<std::string>{"a", "b", "c", "f", "g"});
}

TEST_CASE("redis_input: a server that has lost what was read is an error that names both ids") {
  heard_notices heard;
  redis_rig rig;
  if (!rig.server)
    return;
  rig.add({"a", "b"});
  test::read_queue queue{rig.url("&field=data")};
  REQUIRE(queue.wait_for(2));
  rig.server->forget();
  rig.server->start();
  const auto failure = queue.wait_for_failure();
  CHECK(has(failure, "last id is none"));
  CHECK(has(failure, queue.last_place()));
}

TEST_CASE("redis_input: another reader of the group is refused, and takes nothing away") {
  redis_rig rig;
  if (!rig.server)
    return;
  rig.add({"a", "b"});
  test::read_queue queue{rig.url("&field=data")};
  REQUIRE(queue.wait_for(2));
  queue.close();
  rig.add({"c", "d"});
  rig.command({"XREADGROUP", "GROUP", "leat", "thief", "COUNT", "1", "STREAMS", "stream", ">"});
  queue.open();
  CHECK(has(queue.wait_for_failure(), "thief"));
  queue.close();
  rig.command({"XGROUP", "DELCONSUMER", "stream", "leat", "thief"});
  test::read_queue other{rig.url("&field=data")}; // all but what was acknowledged: nothing was
  REQUIRE(other.wait_for(2));
}

TEST_CASE("redis_input: passwords are used, and are in no text") {
  heard_notices heard;
  redis_rig rig;
  if (!rig.server)
    return;
  rig.command({"CONFIG", "SET", "requirepass", "s3cret"});
  rig.add({"a"});
  const auto with = [&](const std::string& user) {
    return "redis://" + user + rig.server->at() + "/stream?field=data&patience=60";
  };
  test::read_queue right{with(":s3cret@")};
  CHECK(right.wait_for(1));
  test::read_queue none{with("")};
  CHECK(has(none.wait_for_failure(), "REDISCLI_AUTH"));
  test::read_queue wrong{with(":wr0ng@")};
  const auto failure = wrong.wait_for_failure();
  CHECK(has(failure, "refuses the password"));
  CHECK_FALSE(has(failure, "wr0ng"));
}

TEST_CASE("redis_input: a server that cannot be reached is an error when patience has ended") {
  heard_notices heard;
  const auto port = test::free_port();
  const auto input =
      feed_input_of("redis://:s3cret@127.0.0.1:" + std::to_string(port) + "/stream?patience=1");
  const auto failure = thrown_by([&] { input->begin("")->take([](const placed_record&) {}); });
  CHECK(failure.code() == errc::io);
  CHECK(has(failure.what(), "no connection for 1 second"));
  CHECK_FALSE(has(failure.what(), "s3cret"));
  CHECK(heard.number() == 1);
}

TEST_CASE("redis_input: a place that is no id of an entry is refused") {
  const auto input = feed_input_of("redis://127.0.0.1/stream");
  CHECK(code_of([&] { input->begin("17"); }) == errc::mismatch);
}

} // namespace
} // namespace leat::redis_input_test
