#include "runtime/network/address.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat::address_test {
namespace {

bool contains_text(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string refusal(std::string_view text, port_rule rule = port_rule::given) {
  const auto problem = problem_of([&] { parse_address(text, "--address", rule); });
  if (!problem)
    return {};
  CHECK(problem->code() == errc::invalid_argument);
  CHECK(problem->details().stage == "--address");
  CHECK_FALSE(problem->details().got.empty());
  CHECK_FALSE(problem->details().needed.empty());
  return problem->what();
}

TEST_CASE("address: names and addresses with a port are read, and printed in one form") {
  const auto shown = [](std::string_view text) { return to_string(parse_address(text, "x")); };
  CHECK(shown("10.0.0.5:4711") == "10.0.0.5:4711");
  CHECK(shown("Node-3.Cluster_a.EXAMPLE.org:65535") == "node-3.cluster_a.example.org:65535");
  CHECK(shown("n:1") == "n:1");
  CHECK(shown("[FD00:0:0::5]:80") == "[fd00::5]:80");
  CHECK(shown("[::1]:80") == "[::1]:80");
  CHECK(shown("[::ffff:10.0.0.5]:80") == "10.0.0.5:80");
  CHECK(shown("169.254.3.4:80") == "169.254.3.4:80");
  CHECK(shown("1node:80") == "1node:80");
  CHECK(shown("3.node:80") == "3.node:80");
  const auto x = parse_address("[fd00::5]:80", "x");
  CHECK(x.host == "fd00::5");
  CHECK(x.port == 80);
  for (const auto* text : {"10.0.0.5:4711", "NODE:1", "[fd00::5]:80", "[::ffff:1.2.3.4]:5"})
    CHECK(parse_address(shown(text), "x") == parse_address(text, "x"));
}

TEST_CASE("address: what is no address is refused with what was got and needed") {
  const std::vector<std::string> wrong{"",
                                       "host",
                                       ":80",
                                       "host:",
                                       "host:0",
                                       "host:65536",
                                       "host:-1",
                                       "host:+1",
                                       "host: 1",
                                       "host:1 ",
                                       " host:1",
                                       "host:08",
                                       "host:1a",
                                       "host:99999999999999999999",
                                       "ho st:1",
                                       "host/a:1",
                                       "a.:1",
                                       "10.1:80",
                                       "2130706433:80",
                                       "0x7f01:80",
                                       "a.0x7f:1",
                                       "10.0.0.256:1",
                                       "10.0.0.05:1",
                                       "10.0.0.5.:1",
                                       "[::1]",
                                       "[::1]80",
                                       "[::1]:",
                                       "[::1:80",
                                       "::1:80",
                                       "fd00::5",
                                       "[10.0.0.5]:80",
                                       "[host]:80",
                                       "[fe80::1]:80",
                                       "[fd00::5%eth0]:80",
                                       "[]:80",
                                       "a:b:1",
                                       "h\xc3\xa9:1",
                                       std::string("host\0:1", 7),
                                       std::string("10.0.0.5\0:1", 11),
                                       std::string("h:1\0", 4),
                                       std::string(254, 'a') + ":1",
                                       std::string(1 << 20, 'a') + ":1"};
  for (const auto& text : wrong) {
    CAPTURE(text.substr(0, 80));
    const auto shown = refusal(text);
    CHECK_FALSE(shown.empty());
    CHECK(shown.size() < 400);
  }
  CHECK(contains_text(refusal("::1:80"), "in brackets"));
  CHECK(contains_text(refusal("host:70000"), "port \"70000\""));
  CHECK(contains_text(refusal("host:70000"), "1 to 65535"));
  CHECK(contains_text(refusal("[fe80::1]:80"), "local to a link"));
  CHECK(contains_text(refusal(":80"), "no host"));
  CHECK(contains_text(refusal("host:"), "no port"));
}

TEST_CASE("address: port 0 is read only where the system may choose the port") {
  CHECK(refusal("host:0", port_rule::any).empty());
  CHECK(parse_address("[::]:0", "x", port_rule::any) == network_address{"::", 0});
  CHECK_FALSE(refusal("host:00", port_rule::any).empty());
  CHECK(contains_text(refusal("host:65536", port_rule::any), "0 to 65535"));
  CHECK(contains_text(refusal("host:0"), "1 to 65535"));
}

TEST_CASE("address: loopback is known by number and by name") {
  const auto is_local = [](std::string_view text) { return is_loopback(parse_address(text, "x")); };
  CHECK(is_local("127.0.0.1:1"));
  CHECK(is_local("127.255.1.2:1"));
  CHECK(is_local("[::1]:1"));
  CHECK(is_local("[::ffff:127.0.0.1]:1"));
  CHECK(is_local("LocalHost:1"));
  CHECK(is_local("a.localhost:1"));
  CHECK_FALSE(is_local("128.0.0.1:1"));
  CHECK_FALSE(is_local("[::2]:1"));
  CHECK_FALSE(is_local("[1::1]:1"));
  CHECK_FALSE(is_local("notlocalhost:1"));
  CHECK_FALSE(is_local("localhost.example:1"));
}

} // namespace
} // namespace leat::address_test
