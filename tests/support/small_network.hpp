#pragma once

#include "tests/support/command.hpp"
#include "tests/support/standard.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace leat::test {

/// Hosts 1 to n with a network stack each, as on separate machines, and a switch between them:
/// Linux network namespaces, joined by a bridge. They reach each other by 10.99.0.N and fd00:99::N.
/// Needs root, be it that of a namespace of users (`unshare -Urnm`), and the command `ip`.
class small_network {
public:
  explicit small_network(int hosts) : hosts_(hosts) {
    remove_abandoned();
    is_there_ = shell("ip netns add " + name(0))
                && in(0, "ip link add bridge type bridge && ip link set bridge up");
    for (int i = 1; is_there_ && i <= hosts; ++i) {
      const auto n = std::to_string(i);
      is_there_ =
          shell("ip netns add " + name(i))
          && in(0, "ip link add port" + n + " type veth peer name eth0 netns " + name(i)
                       + " && ip link set port" + n + " master bridge up")
          && in(i, "ip link set lo up && ip link set eth0 up && ip address add " + address(i)
                       + "/24 dev eth0 && ip -6 address add fd00:99::" + n + "/64 dev eth0 nodad");
    }
  }
  small_network(const small_network&) = delete;
  small_network& operator=(const small_network&) = delete;
  ~small_network() {
    for (int i = 0; i <= hosts_; ++i)
      shell("ip netns del " + name(i));
  }

  bool is_there() const { return is_there_; }
  /// The command that runs another one on that host.
  words host(int i) const { return {"ip", "netns", "exec", name(i)}; }
  static std::string address(int i) { return "10.99.0." + std::to_string(i); }

  /// Pulls the cable, or plugs it in again.
  void cut(int i) const { REQUIRE(in(0, "ip link set port" + std::to_string(i) + " down")); }
  void join(int i) const { REQUIRE(in(0, "ip link set port" + std::to_string(i) + " up")); }

  /// Delays what the host sends, and loses some of it. False if the kernel cannot do that.
  bool worsen(int i, int ms, int percent) const {
    return in(i, "tc qdisc replace dev eth0 root netem delay " + std::to_string(ms) + "ms loss "
                     + std::to_string(percent) + "%");
  }
  /// Lets so much through of what the host sends, and as much of what it is sent. False if the
  /// kernel cannot do that.
  bool slow_down(int i, int kbit_per_second) const {
    const auto shaped =
        " root tbf rate " + std::to_string(kbit_per_second) + "kbit burst 32kb latency 500ms";
    return in(i, "tc qdisc replace dev eth0" + shaped)
           && in(0, "tc qdisc replace dev port" + std::to_string(i) + shaped);
  }
  /// The link is as good as it was.
  void mend(int i) const {
    in(i, "tc qdisc del dev eth0 root");
    in(0, "tc qdisc del dev port" + std::to_string(i) + " root");
  }

private:
  static constexpr std::string_view prefix = "leat-";

  /// Those of tests that were killed: another process may get the number that is in their names.
  static void remove_abandoned() {
    std::error_code none;
    words abandoned;
    for (auto x = std::filesystem::directory_iterator{"/run/netns", none};
         !none && x != std::filesystem::directory_iterator{}; x.increment(none)) {
      const auto found = x->path().filename().string();
      const auto owner = found.starts_with(prefix) ? std::atoi(found.c_str() + prefix.size()) : 0;
      if (owner > 0 && !std::filesystem::exists("/proc/" + std::to_string(owner)))
        abandoned.push_back(found);
    }
    for (const auto& x : abandoned)
      shell("ip netns del '" + x + "'");
  }
  static bool shell(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
  }
  static std::string name(int i) {
    return std::string{prefix} + std::to_string(::getpid()) + "-" + std::to_string(i);
  }
  static bool in(int i, const std::string& command) {
    return shell("ip netns exec " + name(i) + " sh -c '" + command + "'");
  }

  int hosts_;
  bool is_there_ = false;
};

} // namespace leat::test
