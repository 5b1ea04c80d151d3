#include "runtime/network/address.hpp"
#include "tests/support/test.hpp"

namespace leat::address_test {
namespace {

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
  for (const auto& [text, shown] : std::map<std::string, std::string>{
           {"10.0.0.5:4711", "10.0.0.5:4711"},
           {"Node-3.Cluster_a.EXAMPLE.org:65535", "node-3.cluster_a.example.org:65535"},
           {"n:1", "n:1"},
           {"[FD00:0:0::5]:80", "[fd00::5]:80"},
           {"[::1]:80", "[::1]:80"},
           {"[::ffff:10.0.0.5]:80", "10.0.0.5:80"},
           {"169.254.3.4:80", "169.254.3.4:80"},
           {"1node:80", "1node:80"},
           {"3.node:80", "3.node:80"}}) {
    const auto x = parse_address(text, "x");
    CHECK(to_string(x) == shown);
    CHECK(parse_address(shown, "x") == x);
  }
  CHECK(parse_address("[fd00::5]:80", "x") == network_address{"fd00::5", 80});
}

TEST_CASE("address: what is no address is refused with what was got and needed") {
  const auto check = [](const std::string& text) {
    CAPTURE(text.substr(0, 80));
    const auto shown = refusal(text);
    CHECK_FALSE(shown.empty());
    CHECK(shown.size() < 400);
  };
  for (const auto* port :
       {"", "host", ":80", "host:", "host:0", "host:65536", "host:-1", "host:+1", "host: 1",
        "host:1 ", " host:1", "host:08", "host:1a", "host:99999999999999999999", "a:b:1"})
    check(port);
  for (const auto* host : {"ho st:1", "host/a:1", "a.:1", "10.1:80", "2130706433:80", "0x7f01:80",
                           "a.0x7f:1", "10.0.0.256:1", "10.0.0.05:1", "10.0.0.5.:1", "h\xc3\xa9:1"})
    check(host);
  for (const auto* in_brackets :
       {"[::1]", "[::1]80", "[::1]:", "[::1:80", "::1:80", "fd00::5", "[10.0.0.5]:80", "[host]:80",
        "[fe80::1]:80", "[fd00::5%eth0]:80", "[]:80"})
    check(in_brackets);
  for (const auto& text :
       {std::string("host\0:1", 7), std::string("10.0.0.5\0:1", 11), std::string("h:1\0", 4),
        std::string(254, 'a') + ":1", std::string(1 << 20, 'a') + ":1"})
    check(text);
  CHECK(has(refusal("::1:80"), "in brackets"));
  CHECK(has(refusal("host:70000"), "port \"70000\""));
  CHECK(has(refusal("host:70000"), "1 to 65535"));
  CHECK(has(refusal("[fe80::1]:80"), "local to a link"));
  CHECK(has(refusal(":80"), "no host"));
  CHECK(has(refusal("host:"), "no port"));
}

TEST_CASE("address: port 0 is read only where the system may choose the port") {
  CHECK(refusal("host:0", port_rule::any).empty());
  CHECK(parse_address("[::]:0", "x", port_rule::any) == network_address{"::", 0});
  CHECK_FALSE(refusal("host:00", port_rule::any).empty());
  CHECK(has(refusal("host:65536", port_rule::any), "0 to 65535"));
  CHECK(has(refusal("host:0"), "1 to 65535"));
}

TEST_CASE("address: loopback is known by number and by name") {
  for (const std::string text : {"127.0.0.1:1", "127.255.1.2:1", "[::1]:1", "[::ffff:127.0.0.1]:1",
                                 "LocalHost:1", "a.localhost:1"}) {
    CAPTURE(text);
    CHECK(is_loopback(parse_address(text, "x")));
  }
  for (const std::string text :
       {"128.0.0.1:1", "[::2]:1", "[1::1]:1", "notlocalhost:1", "localhost.example:1"}) {
    CAPTURE(text);
    CHECK_FALSE(is_loopback(parse_address(text, "x")));
  }
}

} // namespace
} // namespace leat::address_test
