#pragma once

#include "runtime/network/ip_address.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/greeting.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace leat {

/// Somebody who has connected, and whom nobody knows yet: his socket, and how far his greeting has
/// come. Nothing here waits.
class stranger : not_copied {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `rules` outlives this.
  stranger(file_descriptor socket, const ip_address& ip, std::uint16_t port, time_point came,
           time_point deadline, const admission& rules, std::shared_ptr<const certificates> own);

  /// Does what the socket lets it do now. True once the peer is admitted, has its place, and its
  /// welcome is sent: release() then. `take_place` gives null if there is none. Throws what the
  /// greeting does.
  bool advance(const std::function<std::shared_ptr<void>(link_role)>& take_place);
  connected_peer release();

  /// Nothing more will come of it.
  bool is_over() const noexcept { return is_over_; }
  /// It was told to go, and may have to hear why.
  bool is_refused() const noexcept { return state_ == greeting::state::refused; }
  const std::string& why() const noexcept { return greeting_.why(); }

  int descriptor() const noexcept { return socket_.get(); }
  /// What to wait for, as poll(2) has it.
  short events() const noexcept;
  time_point came() const noexcept { return came_; }
  time_point deadline() const noexcept { return deadline_; }
  const ip_address& ip() const noexcept { return ip_; }
  /// For texts: "10.0.0.5:4242".
  std::string address() const;

private:
  void receive();
  void send();

  file_descriptor socket_;
  const ip_address ip_;
  const std::uint16_t port_;
  const time_point came_;
  const time_point deadline_;
  greeting greeting_;
  greeting::state state_ = greeting::state::open;
  std::shared_ptr<void> place_;
  byte_buffer out_;
  std::size_t unheard_ = 0;
  bool is_answered_ = false;
  bool is_shut_ = false;
  bool is_over_ = false;
};

} // namespace leat
