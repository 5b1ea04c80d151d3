#pragma once

#include "actors/caf/network_system.hpp"
#include "actors/cluster/coordinator.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "runtime/network/listen_place.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace leat {

struct listening_config {
  listen_place place = {};
  std::shared_ptr<coordinator_memory> memory = {};
  /// Begins a life in `memory`, at this address.
  std::function<std::uint64_t(const std::string& address)> begin_life = {};
  std::string token = {};
  /// Null: without TLS.
  std::shared_ptr<renewed_certificates> certificates = {};
  /// Empty: any.
  std::string job = {};
  cluster_times times = {};
  /// Stored sets that stay.
  std::uint64_t keep = 3;
  /// Called in threads of the coordinator.
  std::function<void(const std::string&)> log = {};
  std::function<void(coordinator_end)> ended = {};
};

/// A coordinator that processes of other machines, or of this one, can connect to. It may end by
/// itself before this does.
class listening_coordinator : not_copied {
public:
  /// Throws `errc::io` if the port is not free, and what `begin_life` throws; then nothing has
  /// begun, and a former coordinator continues.
  listening_coordinator(network_system& on, const listening_config& config);
  /// Closes the port and ends the coordinator, which keeps what it has stored; waits for a set that
  /// is being written.
  ~listening_coordinator();

  /// Waits until it has ended by itself, or for so long.
  void wait_for_end(std::chrono::nanoseconds time) { (void)lives_->wait_for_none(time); }
  bool has_ended() const { return lives_->wait_for_none(std::chrono::nanoseconds{0}); }

  /// Where ranks find it.
  const network_address& address() const noexcept { return address_; }
  std::uint64_t life() const noexcept { return life_; }
  const coordinator_actor& handle() const noexcept { return handle_; }

private:
  void begin(const listening_config& config);
  void open(const std::string& token);
  void end();

  network_system& on_;
  network_address address_;
  std::uint64_t life_ = 0;
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  /// Closes its port when the coordinator ends.
  std::shared_ptr<port_guard> guard_;
  coordinator_actor handle_;
};

} // namespace leat
