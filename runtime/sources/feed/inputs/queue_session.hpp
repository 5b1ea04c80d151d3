#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/sources/feed/inputs/queue_address.hpp"
#include "runtime/sources/feed/inputs/queue_connection.hpp"
#include "runtime/sources/feed/inputs/queue_trials.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// Which server, and how long it may be out of reach.
struct queue_place {
  /// For texts.
  std::string name = {};
  network_address server = {};
  std::chrono::seconds patience{600};
  /// Null: without TLS.
  std::shared_ptr<const server_trust> tls = {};
};

/// Where an address says it is. `tls_scheme`: that of addresses with TLS.
queue_place take_place(queue_address& from, std::string_view tls_scheme = {});

/// A connection to a queue's server that is made again after each loss, and says so by notices. For
/// one thread.
class queue_session : not_copied {
public:
  using step = std::function<void(queue_connection&)>;

  /// `greet`: what comes first on each connection. `stop` must outlive this.
  queue_session(queue_place to, step greet, const wake_event& stop)
      : to_(std::move(to)), greet_(std::move(greet)), stop_(stop), trials_(to_.patience) {}

  /// Does this on a connection that was greeted; begins again on a new one after each `queue_lost`.
  /// Throws `errc::io` once there has been no connection that lasted for as long as patience does,
  /// and what the steps throw; the next call then connects again. False once `stop` is set.
  bool do_connected(const step& work);

private:
  void do_until_done(const step& work);
  queue_connection& connected();
  /// Waits before the next try; throws when patience has ended.
  void wait_after(const queue_lost& problem);
  void tell_of_connection() const;

  const queue_place to_;
  const step greet_;
  const wake_event& stop_;
  std::optional<queue_connection> open_;
  queue_trials trials_;
  std::string why_lost_;
};

} // namespace leat
