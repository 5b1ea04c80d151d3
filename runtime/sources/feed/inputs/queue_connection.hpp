#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/server_tls.hpp"
#include "runtime/network/links/wake_event.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// A connection to a queue's server has ended, or the server cannot answer now. What was asked for
/// may have been done or not. It may pass.
class queue_lost : public error {
public:
  explicit queue_lost(std::string why);
};

/// A TCP connection to a queue's server, perhaps with TLS, for one thread. All waits end with
/// `errc::interrupted` once `stop` is set.
class queue_connection : not_copied {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Throws `queue_lost`. `stop` must outlive this.
  queue_connection(const network_address& to, const wake_event& stop);

  /// From here on all that is sent and received goes through TLS. Throws `queue_lost`, with the
  /// reason if the server's certificate is refused.
  void secure(const std::shared_ptr<const server_trust>& by);

  /// Sends all of it. Throws `queue_lost` where the other side takes nothing for a minute.
  void send(std::string_view bytes);
  /// Sends what fits without waiting, and returns the number of bytes. With TLS some of them may
  /// wait for the next call.
  std::size_t send_now(std::string_view bytes);
  /// Waits until there are more bytes than now, at least one. False at `end`.
  bool receive(time_point end);
  /// What has come and was not taken, up to the next `receive`.
  std::string_view unread() const noexcept { return std::string_view{bytes_}.substr(taken_); }
  /// The first of these bytes are read.
  void take(std::size_t n) noexcept { taken_ += n; }

private:
  void wait(short events, time_point end) const;
  std::size_t send_some_now(std::string_view bytes);
  std::size_t receive_some_now(std::span<char> into);
  bool flush();

  const std::string host_;
  const wake_event& stop_;
  file_descriptor socket_;
  std::string bytes_;
  std::size_t taken_ = 0;
  /// Null: without TLS. Then where bytes are received, and what of them it has not read.
  std::unique_ptr<server_tls> through_ = {};
  std::string sealed_;
  std::string_view came_ = {};
};

} // namespace leat
