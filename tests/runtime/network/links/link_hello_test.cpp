#include "runtime/network/links/link_hello.hpp"
#include "tests/support/test.hpp"

#include <wire/link.pb.h>

namespace leat::link_hello_test {
namespace {

link_hello some_hello() {
  return {.least_protocol = 2,
          .protocol = 5,
          .version = "1.2.3",
          .role = link_role::worker,
          .token = secret{"the token"}};
}

std::optional<link_refusal> fault(std::uint32_t least, std::uint32_t newest) {
  return fault_of_protocol(some_hello(), least, newest, "9.9");
}

} // namespace

TEST_CASE("link hello: what is written is read") {
  const auto x = decode_link_hello(encode(some_hello())).value();
  CHECK(x.least_protocol == 2);
  CHECK(x.protocol == 5);
  CHECK(x.version == "1.2.3");
  CHECK(x.role == link_role::worker);
  CHECK(x.token.is("the token"));
  const auto welcome = decode_link_welcome(encode(link_welcome{4, "1.0"})).value();
  CHECK(welcome.protocol == 4);
  CHECK(welcome.version == "1.0");
  const auto refusal =
      decode_link_refusal(encode(link_refusal{refusal_reason::too_new, "why"})).value();
  CHECK(refusal.reason == refusal_reason::too_new);
  CHECK(refusal.text == "why");
}

TEST_CASE("link hello: what is none is refused") {
  CHECK_FALSE(decode_link_hello("\xff\xff"));
  wire::LinkHello wire;
  wire.ParseFromString(encode(some_hello()));
  wire.set_version(std::string(65, 'x'));
  CHECK_FALSE(decode_link_hello(wire.SerializeAsString()));
  wire.set_version("a\nb");
  CHECK_FALSE(decode_link_hello(wire.SerializeAsString()));
  wire.set_version("");
  wire.set_least_protocol(6);
  CHECK_FALSE(decode_link_hello(wire.SerializeAsString()));
  CHECK_FALSE(
      decode_link_refusal(encode(link_refusal{refusal_reason::full, std::string(3000, 'x')})));
  for (const std::string& odd :
       std::vector<std::string>{"\x1b[2J", "a\nb", "\x7f"}) // it would go to a terminal
    CHECK_FALSE(decode_link_refusal(encode(link_refusal{refusal_reason::full, odd})));
  CHECK(decode_link_refusal(encode(link_refusal{refusal_reason::full, "n\u0153ud"})));
}

TEST_CASE(
    "link hello: that of a version to come can be read, also in a role that is not known yet") {
  wire::LinkHello wire;
  wire.set_role(77);
  wire.set_protocol(900);
  wire.set_least_protocol(900);
  const auto x = decode_link_hello(wire.SerializeAsString()).value();
  CHECK(x.role == std::nullopt);
  CHECK(fault_of_protocol(x, 1, 1, "0.1")->reason == refusal_reason::too_new);
}

TEST_CASE("link hello: both sides need a protocol in common") {
  for (const auto& [least, newest] : {std::pair{1U, 2U}, {5U, 9U}, {3U, 3U}, {1U, 9U}})
    CHECK_FALSE(fault(least, newest));
  const auto old = fault(6, 7).value();
  CHECK(old.reason == refusal_reason::too_old);
  CHECK(has(old.text, "this process has leat 1.2.3 (protocol 2 to 5), which is too old"));
  CHECK(has(old.text, "which has leat 9.9 (protocol 6 to 7)"));
  const auto young = fault(1, 1).value();
  CHECK(young.reason == refusal_reason::too_new);
  CHECK(has(young.text, "which is too new"));
}

} // namespace leat::link_hello_test
