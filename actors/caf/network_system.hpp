#pragma once

#include "actors/caf/control_threads.hpp"
#include "actors/caf/own_thread.hpp"
#include "actors/caf/ready_thread.hpp"
#include "runtime/base/not_copied.hpp"

#include <leat/error.hpp>

#include <caf/actor_system.hpp>
#include <caf/detail/thread_safe_actor_clock.hpp>

#include <memory>

namespace leat {

/// The actor system through which the processes of clusters talk: one for each process, begun with
/// its first cluster, and never ended, since the end of a CAF system with connections may hang.
/// Between two clusters it is idle. Small messages alone go through it: whether a process lives is
/// judged by them.
class network_system : not_copied {
public:
  /// A node of its own, which stays for ever. Throws `errc::no_resources`.
  network_system();
  /// Throws `errc::no_resources`; in the child of a fork whose parent has one, `errc::forked`.
  static network_system& of_process();

  caf::actor_system& system() noexcept { return *system_; }
  /// For actors that block.
  own_threads& threads() noexcept { return threads_; }

private:
  class configuration;

  ~network_system() = delete;

  // All threads come first: CAF, which would begin others like them, ends the process if it cannot.
  control_threads control_;
  ready_thread ticking_;
  ready_thread talking_;
  caf::detail::thread_safe_actor_clock clock_;
  std::unique_ptr<configuration> config_;
  std::unique_ptr<caf::actor_system> system_;
  own_threads threads_;
};

/// Sends a notice of what an actor of the network threw: see watched_actor.
void tell_failure(const error& x) noexcept;

} // namespace leat
