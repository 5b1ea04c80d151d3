#pragma once

#include "actors/caf/network_system.hpp"
#include "messages/cluster/interfaces.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <leat/certificates.hpp>
#include <leat/cluster_report.hpp>

#include <caf/scoped_actor.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace leat {

/// A job as its coordinator tells it to a process that is none of its ranks: an observer, or a
/// worker that looks for ranks. One thread.
class coordinator_view : not_copied {
public:
  struct config {
    network_address to = {};
    link_role role = link_role::observer;
    std::string token = {};
    /// Directory; empty: without TLS.
    std::string certificates = {};
    /// For connecting, and for an answer.
    std::chrono::seconds limit{10};
  };

  /// Throws `errc::invalid_argument` for certificates that are wrong.
  explicit coordinator_view(config x);
  ~coordinator_view();

  /// Asks the coordinator, and connects to it first where there is no connection. Throws `errc::io`
  /// or `errc::mismatch`, see cluster_observer. It may be called again after either.
  cluster_report look();
  /// Waits for so long, or until the connection is lost.
  void wait(std::chrono::nanoseconds time);

private:
  void connect();
  /// Ends the connection, if there is one.
  void leave();
  [[noreturn]] void fail(const std::string& got) const;
  std::string limit_text() const { return std::to_string(config_.limit.count()) + " s"; }

  const config config_;
  network_system& on_;
  caf::scoped_actor self_;
  const std::shared_ptr<const wake_event> stop_ = std::make_shared<wake_event>();
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  dialer_actor dialer_;
  /// Null while there is no connection.
  coordinator_actor coordinator_;
};

} // namespace leat
