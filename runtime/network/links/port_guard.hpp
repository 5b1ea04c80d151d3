#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/ip_address.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/greeting.hpp"
#include "runtime/network/links/wake_event.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace leat {

struct guard_config {
  ip_address at = {};
  /// 0: the system chooses one.
  std::uint16_t port = 0;
  /// Null: without TLS, which is for loopback alone unless `is_insecure`.
  std::shared_ptr<renewed_certificates> certificates = {};
  /// The user says that the network is private.
  bool is_insecure = false;
  admission rules = {};
  /// Hears of refused peers, at most some lines a minute; in the guard's thread.
  std::function<void(const std::string&)> log = {};
  /// How long a peer may take from its connection to the end of its hello.
  std::chrono::milliseconds patience{3'000};
  /// Peers at a time that nobody knows yet. At most an eighth of the descriptors that this process
  /// may have.
  std::size_t most_unknown = 96;
  /// Connections at a time that were admitted; 0: three quarters of the descriptors that this
  /// process may have. An eighth of them, and at least one, is for observers, the rest for others.
  std::size_t most_admitted = 0;
};

/// Listens at a port, in a thread of its own, and finds out who connects: a handshake, a
/// certificate, a hello. Only who is known and says the right words is passed on; all others are
/// cut off in time, take a bounded amount of memory, and learn nothing.
class port_guard : not_copied {
public:
  /// Takes a peer that is admitted and welcome. Called in the guard's thread, so it must not wait.
  using admit_peer = std::function<void(connected_peer)>;

  /// Listens; whoever comes waits. Throws `errc::invalid_argument` for an address other than
  /// loopback without certificates and without `is_insecure`; `errc::io` if it cannot listen there;
  /// `errc::no_resources`.
  explicit port_guard(guard_config config);
  /// Closes the port, and cuts off whoever is not admitted yet.
  ~port_guard();

  /// Lets peers in. Call it once. Throws `errc::no_resources`.
  void begin(admit_peer admit);
  /// Closes the port soon. Any thread.
  void close() noexcept { stop_.set(); }

  std::uint16_t port() const noexcept { return port_; }

private:
  class watch;

  wake_event stop_;
  std::uint16_t port_ = 0;
  std::unique_ptr<watch> watch_;
  std::thread thread_;
};

} // namespace leat
