#include "runtime/network/listen_place.hpp"
#include "tests/support/test.hpp"

namespace leat::listen_place_test {
namespace {

ip_address ip(const char* text) {
  return parse_ip(text).value();
}

const std::vector<interface_address>& machine() {
  static const std::vector<interface_address> x{
      {"lo", ip("127.0.0.1")}, {"eth0", ip("10.0.0.5")}, {"eth0", ip("fd00::5")}};
  return x;
}

std::vector<ip_address> known_names(const std::string& name, const std::string&) {
  static const std::map<std::string, std::vector<ip_address>> x{
      {"node5", {ip("127.0.1.1"), ip("10.0.0.9"), ip("10.0.0.5")}},
      {"localhost", {ip("127.0.0.1")}},
      {"node9", {ip("10.0.0.9")}}};
  return x.at(name);
}

listen_place place_of(const listen_wish& wish) {
  return choose_listen_place(wish, machine(), known_names);
}

listen_wish bind_to(const std::string& address, bool is_insecure) {
  return {.address = {{parse_address(address, "bind", port_rule::any), "bind"}},
          .is_insecure = is_insecure};
}

std::string chosen(const listen_wish& wish) {
  const auto place = place_of(wish);
  return to_string(place.at) + " as " + to_string(place.told);
}

std::string refusal(const listen_wish& wish) {
  const auto problem = thrown_by([&] { place_of(wish); });
  CHECK(problem.code() == errc::invalid_argument);
  return problem.what();
}

} // namespace

TEST_CASE("listen place: without a wish it is loopback, or what others can use if that is meant") {
  CHECK(chosen({}) == "127.0.0.1 as 127.0.0.1:0");
  CHECK(chosen({.is_insecure = true}) == "10.0.0.5 as 10.0.0.5:0");
  CHECK(chosen({.is_secured = true}) == "10.0.0.5 as 10.0.0.5:0");
}

TEST_CASE("listen place: an address is taken as it is, and a name is told as it is") {
  CHECK(chosen(bind_to("127.0.0.9:1", false)) == "127.0.0.9 as 127.0.0.9:1");
  CHECK(chosen(bind_to("10.0.0.5:1", true)) == "10.0.0.5 as 10.0.0.5:1");
  CHECK(chosen(bind_to("[fd00::5]:1", true)) == "fd00::5 as [fd00::5]:1");
  CHECK(chosen(bind_to("localhost:1", false)) == "127.0.0.1 as localhost:1");
  // Of a name's addresses that of this machine counts, and loopback only where there is no other.
  CHECK(chosen(bind_to("node5:1", true)) == "10.0.0.5 as node5:1");
}

TEST_CASE("listen place: an address comes first that others can use") {
  std::vector<interface_address> rest{
      {"lo", ip("127.0.0.1")}, {"docker0", ip("172.17.0.1")}, {"eth0", ip("fe80::1")},
      {"eth0", ip("fd00::5")}, {"q0", ip("169.254.1.1")},     {"eth0", ip("192.168.1.5")},
      {"ib0", ip("10.0.0.5")}, {"ib1", ip("fe80::2")},        {"lo", ip("::1")}};
  const auto first = [&] {
    return to_string(choose_listen_place({.is_insecure = true}, rest, known_names).at);
  };
  for (const std::string next :
       {"192.168.1.5", "10.0.0.5", "fd00::5", "172.17.0.1", "169.254.1.1", "127.0.0.1", "::1"}) {
    CHECK(first() == next);
    std::erase_if(rest, [&](const auto& x) { return to_string(x.address) == next; });
  }
  CHECK(code_of(first) == errc::invalid_argument);
  rest.clear();
  CHECK(problem_of(first).value().details().list.at(0)
        == "this machine has no interface that is up");
}

TEST_CASE("listen place: this machine has a list, and each address in it can be wished for") {
  const auto here = read_machine_interfaces();
  for (const auto& x : here)
    if (!needs_scope(x.address)) {
      CAPTURE(x.interface, to_string(x.address));
      const auto place = choose_listen_place(
          {.address = {{{to_string(x.address), 1}, "bind"}}, .is_insecure = true}, here,
          known_names);
      CHECK(place.at == x.address);
    }
  if (here.empty())
    WARN("skipped: no interface is up here");
}

TEST_CASE("listen place: what other machines can reach is refused where nobody meant it") {
  for (const auto& wish : {bind_to("10.0.0.5:1", false), bind_to("node5:1", false)}) {
    const auto text = refusal(wish);
    CAPTURE(text);
    CHECK(has(text, "127.0.0.1:1"));
    CHECK(has(text, "--insecure or LEAT_CLUSTER_INSECURE=1"));
  }
}

TEST_CASE("listen place: an address of another machine is refused, with those there are") {
  for (const std::string text : {"10.0.0.9:1", "node9:1", "0.0.0.0:1", "[::]:1"}) {
    const auto got = refusal(bind_to(text, true));
    CAPTURE(got);
    CHECK(has(got, text == "node9:1" ? "10.0.0.9" : parse_address(text, "x").host));
    CHECK(has(got, "eth0 10.0.0.5"));
  }
}

TEST_CASE("listen place: names are resolved by the system") {
  const auto found = resolve("localhost", "bind");
  REQUIRE_FALSE(found.empty());
  CHECK(is_loopback(found.front()));
  CHECK(code_of([] { resolve("no-such-name.invalid", "bind"); }) == errc::invalid_argument);
}

TEST_CASE("listen place: a port that is free is found, and one that is not is refused") {
  const auto loopback = ip("127.0.0.1");
  const auto port = listen_at(loopback, 0).port;
  CHECK(port != 0);
  // No address of this machine: 192.0.2.0/24 is for documents.
  const auto problem = thrown_by([&] { listen_at(ip("192.0.2.77"), port); });
  CHECK(problem.code() == errc::io);
  CHECK(has(problem.what(), "192.0.2.77:" + std::to_string(port)));
}

} // namespace leat::listen_place_test
