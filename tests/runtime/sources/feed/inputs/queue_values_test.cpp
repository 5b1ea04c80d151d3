#include "runtime/sources/feed/inputs/feed_input_of.hpp"
#include "runtime/sources/feed/inputs/nats_answers.hpp"
#include "runtime/sources/feed/inputs/nats_messages.hpp"
#include "runtime/sources/feed/inputs/redis_entries.hpp"
#include "runtime/sources/feed/inputs/tcp_line.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/test.hpp"

namespace leat::queue_values_test {
namespace {

TEST_CASE("queue_values: addresses are read, and what may be a secret is in no text of them") {
  const auto x = parse_queue_address("redis://me:p%40ss@Host/a%2Fb?group=g&patience=5", 6379);
  CHECK(x.user.reveal() == "me");
  CHECK(x.password.reveal() == "p@ss");
  CHECK(x.server == network_address{"host", 6379});
  CHECK(x.path == "a/b");
  CHECK(x.name == "redis://host:6379/a/b");
  CHECK(x.parameters.at("group") == "g");
  for (const std::string url :
       {"redis://me:s3cret/x@host/stream", "redis://me:s3cret@host:x/stream",
        "redis://:s3cret@host/stream?db=x", "redis://:s3cret@host/stream?password=s3cret",
        "kafka://:s3cret@host/topic", "rediss://:s3cret@host/stream?ca=/none",
        "tls://a:s3cret@host/stream?cert=/none&key=/none", "rediss://:s3cret@host/stream?key=/none",
        "redis://:s3cret@host/stream?ca=/none", "tcp://a:s3cret@host:1", "tcp://:s3cret@host:1",
        "nats://:s3cret@host/stream", "tcp://host", "redis://:s3cret@host/",
        "redis://:s3cret@host/stream?patience=0", "redis://:s3cret@host/stream?db=1&db=s3cret"}) {
    const auto failure = thrown_by([&] { feed_input_of(url); });
    INFO(failure.what());
    CHECK(failure.code() == errc::invalid_argument);
    CHECK_FALSE(has(failure.what(), "s3cret"));
  }
}

TEST_CASE("queue_values: a key that does not fit, or has a passphrase, is refused at once") {
  const test::link_site site;
  const auto own = site.issue("own", {link_role::rank});
  const auto url = "rediss://host/stream?ca=" + own + "/ca.pem&cert=" + own + "/cert.pem&key=";
  CHECK(feed_input_of(url + own + "/key.pem") != nullptr);
  const auto authority = test::make_odd(nullptr, {});
  const openssl_ptr<EVP_PKEY> rsa{EVP_RSA_gen(2048)}; // the certificate's is not of this kind
  REQUIRE(rsa);
  const std::string key = site.at / "other.pem";
  for (const auto& text : {test::pem_of(authority.key.get()), test::pem_of(rsa.get()),
                           test::pem_of(authority.key.get(), "secret")}) {
    test::write_content(key, text);
    const auto failure = thrown_by([&] { feed_input_of(url + key); });
    CHECK(failure.code() == errc::invalid_argument);
    CHECK(has(failure.what(), "key="));
  }
}

TEST_CASE("queue_values: a reply of Redis is whole or a part, wherever it is cut") {
  const std::string text =
      "*1\r\n*2\r\n$1\r\ns\r\n*2\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nd\r\n$2\r\nv0\r\n"
      "*2\r\n$3\r\n2-0\r\n*0\r\n";
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto x = read_redis_reply(std::string_view{text}.substr(0, n));
    CHECK(x.now == redis_read::state::part);
    CHECK(x.size > n);
    CHECK(x.size <= text.size());
  }
  const auto longer = text + "+more\r\n"; // replies refer to it
  const auto x = read_redis_reply(longer);
  REQUIRE(x.now == redis_read::state::whole);
  CHECK(x.size == text.size());
  const auto entries = redis_entries_of(x.reply);
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  CHECK((*entries)[0].fields[0].second == "v0");
  CHECK((*entries)[1].id == redis_entry_id{2, 0});
  for (const char* wrong : {"x\r\n", "*-2\r\n", "$a\r\n", "$1\r\nabc", "\r\n"})
    CHECK(read_redis_reply(wrong).now == redis_read::state::wrong);
  std::string deep;
  for (int i = 0; i < 20; ++i)
    deep += "*1\r\n";
  CHECK(read_redis_reply(deep).now == redis_read::state::wrong);
  CHECK(before(redis_entry_id{5, 0}) < redis_entry_id{5, 0});
  CHECK(after(before(redis_entry_id{5, 0})) == redis_entry_id{5, 0});
}

TEST_CASE("queue_values: messages of NATS, their headers, and what consumers say") {
  const auto x = read_nats_message("HMSG a 1 b 16 18\r\nNATS/1.0 404 N\r\nhi\r\n");
  REQUIRE(x.now == nats_read::state::whole);
  CHECK(x.message.status() == 404);
  CHECK(x.message.payload == "hi");
  CHECK(x.message.reply == "b");
  CHECK(read_nats_message("MSG a 1 5\r\nabc").now == nats_read::state::part);
  for (const char* wrong :
       {"HELLO\r\n", "MSG a 5\r\n", "MSG a 1 99999999999\r\n", "HMSG a 1 9 8\r\n"})
    CHECK(read_nats_message(wrong).now == nats_read::state::wrong);
  const auto is = nats_delivery_of("$JS.ACK.S.d.2.30.17.1795947341528572842.9");
  REQUIRE(is);
  CHECK((is->sequence == 30 && is->in_consumer == 17 && is->times == 2));
  CHECK(nats_delivery_of("$JS.ACK.domain.hash.S.d.2.30.17.1795.9.x")->sequence == 30);
  CHECK_FALSE(nats_delivery_of("$JS.ACK.S.d.x.30.17.1.9"));
  CHECK(base64_decoded("aGk=") == "hi");
  CHECK_FALSE(base64_decoded("aGk"));
  CHECK(nats_fault_of("[]")->code == 0);
}

TEST_CASE("queue_values: lines over TCP") {
  CHECK(read_tcp_line("7 a b\nx").content == "a b");
  CHECK(read_tcp_line("7 \n").is == tcp_line::kind::record);
  CHECK(read_tcp_line("end\n").is == tcp_line::kind::end);
  CHECK(read_tcp_line("7 a").is == tcp_line::kind::part);
  CHECK(read_tcp_line(" a\n").is == tcp_line::kind::wrong);
  CHECK(read_tcp_line("a\n").is == tcp_line::kind::wrong);
}

} // namespace
} // namespace leat::queue_values_test
