#pragma once

#include "tests/support/cut_sockets.hpp"
#include "tests/support/network_link.hpp"
#include "tests/support/small_network.hpp"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leat::test {

/// What lies between a trainer and its helpers, which can be disturbed for each of them.
class helper_network {
public:
  helper_network() = default;
  helper_network(const helper_network&) = delete;
  helper_network& operator=(const helper_network&) = delete;
  virtual ~helper_network() = default;

  virtual std::string name() const = 0;
  /// The commands that run others where the trainer is, and where a helper is.
  virtual words trainer() const { return {}; }
  virtual words helper(std::size_t) const { return {}; }
  /// Where the trainer listens, without the port, and how a helper reaches it there.
  virtual std::string trainer_host() const { return "127.0.0.1"; }
  virtual std::string trainer_for(std::size_t helper, std::uint16_t port) = 0;

  /// Ends all connections of a helper, whose process this is, and lets none be made.
  virtual void cut(std::size_t helper, pid_t process) = 0;
  /// Nothing comes through, and nobody is told.
  virtual void silence(std::size_t helper) = 0;
  virtual void delay(std::size_t helper, std::chrono::milliseconds by) = 0;
  /// All is well again. `is_lost`: connections end, and what was under way on them is lost.
  virtual void restore(std::size_t helper, pid_t process, bool is_lost) = 0;
};

/// Loopback, and a proxy for each helper.
class proxied_helpers final : public helper_network {
public:
  explicit proxied_helpers(std::size_t helpers) : links_(helpers) {}

  std::string name() const override { return "loopback"; }
  std::string trainer_for(std::size_t helper, std::uint16_t port) override {
    if (!links_[helper])
      links_[helper] = std::make_unique<network_link>(port);
    return links_[helper]->address();
  }
  void cut(std::size_t helper, pid_t) override { links_[helper]->cut(); }
  void silence(std::size_t helper) override { links_[helper]->silence(); }
  void delay(std::size_t helper, std::chrono::milliseconds by) override {
    links_[helper]->delay(by);
  }
  void restore(std::size_t helper, pid_t, bool is_lost) override {
    auto& link = *links_[helper];
    link.delay(std::chrono::milliseconds{0});
    if (is_lost)
      link.cut();
    link.restore();
  }

private:
  std::vector<std::unique_ptr<network_link>> links_;
};

/// A host for the trainer, and one for each helper.
class helpers_on_hosts final : public helper_network {
public:
  explicit helpers_on_hosts(std::size_t helpers) : hosts_(static_cast<int>(helpers) + 1) {}
  /// Whether this process may make hosts.
  static bool are_possible() {
    static const bool found = small_network{1}.is_there();
    return found;
  }

  std::string name() const override { return "network namespaces"; }
  words trainer() const override { return hosts_.host(1); }
  words helper(std::size_t i) const override { return hosts_.host(host_of(i)); }
  std::string trainer_host() const override { return small_network::address(1); }
  std::string trainer_for(std::size_t, std::uint16_t port) override {
    return trainer_host() + ":" + std::to_string(port);
  }

  void cut(std::size_t helper, pid_t process) override {
    cut_sockets_of(process); // while the trainer can still hear that
    silence(helper);
  }
  void silence(std::size_t helper) override { hosts_.cut(host_of(helper)); }
  void delay(std::size_t helper, std::chrono::milliseconds by) override {
    constexpr int percent_lost = 2;
    const auto ms = static_cast<int>(by.count());
    // A kernel without netem still limits the rate; one that does neither leaves the link alone.
    if (!hosts_.worsen(host_of(helper), ms, percent_lost))
      (void)hosts_.slow_down(host_of(helper), slow_kbit / (1 + ms));
  }
  void restore(std::size_t helper, pid_t process, bool is_lost) override {
    if (is_lost)
      cut_sockets_of(process);
    hosts_.mend(host_of(helper));
    hosts_.join(host_of(helper));
  }

private:
  static constexpr int slow_kbit = 100'000;

  static int host_of(std::size_t helper) noexcept { return static_cast<int>(helper) + 2; }

  small_network hosts_;
};

/// Hosts where they can be made, otherwise loopback. LEAT_TEST_NETWORK=loopback takes that anyway.
inline std::unique_ptr<helper_network> network_for(std::size_t helpers) {
  const auto* const wanted = std::getenv("LEAT_TEST_NETWORK");
  const bool takes_loopback = wanted && std::string_view{wanted} == "loopback";
  if (takes_loopback || !helpers_on_hosts::are_possible())
    return std::make_unique<proxied_helpers>(helpers);
  return std::make_unique<helpers_on_hosts>(helpers);
}

} // namespace leat::test
