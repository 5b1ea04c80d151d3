#pragma once

#include "actors/caf/network_system.hpp"
#include "actors/cluster/listening_coordinator.hpp"
#include "actors/cluster/membership.hpp"
#include "messages/cluster/interfaces.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leat {

struct cluster_rank_config {
  cluster_hello hello = {};
  cluster_times times = {};
  /// Where the coordinator is to be found now.
  std::function<network_address()> coordinator = {};
  /// Equal for all loaders that look for the same coordinator.
  std::string coordinator_name = {};
  /// Whether the job is over, as far as can be seen without a coordinator.
  std::function<bool()> is_over = {};
  /// Set if this process runs the coordinator.
  std::optional<listening_config> own_coordinator = {};
  /// Null: without TLS.
  std::shared_ptr<renewed_certificates> certificates = {};
  std::chrono::nanoseconds join_within{0};
  std::chrono::nanoseconds coordinator_lost_after{0};
};

/// A process as a rank of a job in a cluster: its place there, the actors that keep up its
/// connection to the coordinator, and that coordinator if this process runs it. The trainer's
/// thread.
class cluster_rank : not_copied {
public:
  /// Begins to look for the coordinator. Throws `errc::no_resources`, `errc::forked`, what a
  /// coordinator of its own throws, and `errc::invalid_argument` where this process has another
  /// rank of the same coordinator.
  explicit cluster_rank(cluster_rank_config config);
  /// Leaves at once: see leave().
  ~cluster_rank();

  const std::shared_ptr<membership>& place() const noexcept { return place_; }

  /// Begins a coordinator again if another process had taken over from this one's, and is gone: the
  /// job would otherwise have none.
  void coordinate_again();
  /// All batches were handed over.
  void finish();
  /// Waits until all ranks have finished and all is stored.
  void wait_until_over();
  /// Lets the other ranks know that this one leaves; waits for two beats at most.
  void leave() noexcept;

private:
  void begin();
  void end() noexcept;

  const cluster_rank_config config_;
  /// This process's claim to be the only rank of the job; given back when the rank has left, or the
  /// job is over.
  std::shared_ptr<const std::string> place_in_process_;
  network_system& on_;
  const std::shared_ptr<membership> place_;
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  std::unique_ptr<listening_coordinator> own_coordinator_;
  std::shared_ptr<const wake_event> stop_;
  dialer_actor dialer_;
  member_actor member_;
  /// It does not begin another coordinator before this time.
  member::time coordinates_again_at_{0};
  bool has_finished_ = false;
  bool has_left_ = false;
};

} // namespace leat
