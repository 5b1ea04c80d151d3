#include "runtime/network/local_interface.hpp"
#include "runtime/network/machine_interfaces.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::local_interface_test {
namespace {

using machine = std::vector<interface_address>;

machine machine_of(const std::vector<std::pair<const char*, const char*>>& entries) {
  machine result;
  for (const auto& [name, address] : entries)
    result.push_back({name, parse_ip(address).value()});
  return result;
}

const machine& usual() {
  static const auto x = machine_of({{"lo", "127.0.0.1"},
                                    {"docker0", "172.17.0.1"},
                                    {"eth0", "fe80::1"},
                                    {"eth0", "fd00::5"},
                                    {"eth0", "192.168.1.5"},
                                    {"ib0", "10.0.0.5"},
                                    {"ib0", "10.0.1.5"},
                                    {"ib1", "fe80::2"},
                                    {"lo", "::1"}});
  return x;
}

std::string chosen(std::string_view wish, const machine& from = usual()) {
  return to_string(choose_local_address(wish, from, "--bind"));
}

std::string refusal(std::string_view wish, const machine& from = usual()) {
  const auto problem = problem_of([&] { choose_local_address(wish, from, "--bind"); });
  if (!problem)
    return {};
  CHECK(problem->code() == errc::invalid_argument);
  CHECK(problem->details().stage == "--bind");
  CHECK(problem->details().list.size() == std::max<std::size_t>(from.size(), 1));
  return problem->what();
}

TEST_CASE("local interface: a wish is an address, a network or an interface") {
  CHECK(chosen("10.0.1.5") == "10.0.1.5");
  CHECK(chosen("127.0.0.1") == "127.0.0.1");
  CHECK(chosen("fd00:0::5") == "fd00::5");
  CHECK(chosen("10.0.0.0/8") == "10.0.0.5");
  CHECK(chosen("10.0.1.77/24") == "10.0.1.5");
  CHECK(chosen("fd00::/8") == "fd00::5");
  CHECK(chosen("fe00::/7", machine_of({{"a", "fe80::1"}, {"b", "ff00::5"}})) == "ff00::5");
  CHECK(chosen("0.0.0.0/0") == "127.0.0.1");
  CHECK(chosen("eth0") == "192.168.1.5");
  CHECK(chosen("ib0") == "10.0.0.5");
  CHECK(chosen("lo") == "127.0.0.1");
  CHECK(chosen("docker0") == "172.17.0.1");
  CHECK(chosen("eth0", machine_of({{"eth0", "fe80::1"}, {"eth0", "fd00::5"}})) == "fd00::5");
  CHECK(chosen("169.254.0.0/16", machine_of({{"q0", "169.254.1.1"}})) == "169.254.1.1");
}

TEST_CASE("local interface: without a wish an address comes first that others can use") {
  CHECK(chosen("") == "192.168.1.5");
  auto rest = usual();
  const auto drop = [&](const char* address) {
    std::erase_if(rest, [&](const auto& x) { return x.address == parse_ip(address); });
  };
  const auto next = [&](const char* gone) {
    drop(gone);
    return chosen("", rest);
  };
  CHECK(next("192.168.1.5") == "10.0.0.5");
  CHECK(next("10.0.0.5") == "10.0.1.5");
  CHECK(next("10.0.1.5") == "fd00::5");
  CHECK(next("fd00::5") == "172.17.0.1");
  CHECK(next("172.17.0.1") == "127.0.0.1");
  CHECK(next("127.0.0.1") == "::1");
  drop("::1");
  CHECK(rest.size() == 2);
  CHECK_FALSE(refusal("", rest).empty());
  CHECK(chosen("", machine_of({{"lo", "127.0.0.1"}, {"q0", "169.254.1.1"}, {"br-1", "172.18.0.1"}}))
        == "172.18.0.1");
  CHECK(chosen("", machine_of({{"lo", "127.0.0.1"}, {"q0", "169.254.1.1"}})) == "169.254.1.1");
}

TEST_CASE("local interface: a wish that nothing fits is refused with a list of what there is") {
  const auto text = refusal("eth1");
  CHECK(text.find("\"eth1\"") != std::string::npos);
  CHECK(text.find("\n  ib0 10.0.1.5") != std::string::npos);
  CHECK(text.find("\n  eth0 fd00::5") != std::string::npos);
  for (const auto* wish : {"10.0.0.6",
                           "0.0.0.0",
                           "::",
                           "fe80::1",
                           "fe80::/10",
                           "11.0.0.0/8",
                           "10.0.0.0/33",
                           "fd00::/129",
                           "10.0.0.0/",
                           "/8",
                           "10.0.0/8",
                           "10.0.0.0/-1",
                           "10.0.0.0/+8",
                           "10.0.0.0/8 ",
                           "10.0.0.0/0008",
                           "::ffff:10.0.0.0/104",
                           "ib1",
                           "eth",
                           "eth00",
                           "fe80::1%eth0"}) {
    CAPTURE(wish);
    CHECK_FALSE(refusal(wish).empty());
  }
  CHECK(refusal("", {}).find("no interface that is up") != std::string::npos);
}

TEST_CASE("local interface: networks have at most as many bits as their addresses") {
  CHECK(parse_network("10.0.0.5/32"));
  CHECK(parse_network("::/128"));
  CHECK_FALSE(parse_network("10.0.0.5/33"));
  CHECK_FALSE(parse_network("::/129"));
  CHECK_FALSE(parse_network("::/4294967297"));
  CHECK_FALSE(parse_network("10.0.0.5"));
}

TEST_CASE("local interface: networks agree with a comparison bit by bit") {
  std::mt19937 random{Catch::rngSeed()};
  const auto bit = [](const ip_address& x, unsigned n) {
    return x.bytes[n / 8] >> (7 - n % 8) & 1;
  };
  for (int i = 0; i < 20'000; ++i) {
    ip_network network;
    network.address.family = i % 2 == 0 ? ip_family::v4 : ip_family::v6;
    const auto all = bits_of(network.address.family);
    for (unsigned n = 0; n < all / 8; ++n)
      network.address.bytes[n] = static_cast<std::uint8_t>(random());
    network.bits = random() % (all + 1);
    auto x = network.address;
    const auto changed = random() % (all + 8);
    if (changed < all)
      x.bytes[changed / 8] ^= static_cast<std::uint8_t>(0x80 >> changed % 8);
    bool is_same = true;
    for (unsigned n = 0; n < network.bits; ++n)
      is_same = is_same && bit(x, n) == bit(network.address, n);
    CAPTURE(to_string(network.address), network.bits, to_string(x));
    REQUIRE(contains(network, x) == is_same);
    const auto read =
        parse_network(to_string(network.address) + '/' + std::to_string(network.bits));
    if (parse_ip(to_string(network.address)) == network.address) {
      REQUIRE(read.has_value());
      REQUIRE(read->address == network.address);
      REQUIRE(read->bits == network.bits);
    }
    x.family = x.family == ip_family::v4 ? ip_family::v6 : ip_family::v4;
    REQUIRE_FALSE(contains(network, x));
  }
}

TEST_CASE("local interface: this machine has a list, and each address in it can be wished for") {
  const auto here = read_machine_interfaces();
  for (const auto& x : here) {
    CAPTURE(x.interface, to_string(x.address));
    CHECK_FALSE(x.interface.empty());
    if (!needs_scope(x.address))
      CHECK(choose_local_address(to_string(x.address), here, "x") == x.address);
  }
  if (here.empty())
    WARN("skipped: no interface is up here");
}

} // namespace
} // namespace leat::local_interface_test
