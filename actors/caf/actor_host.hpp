#pragma once

#include "actors/caf/control_threads.hpp"
#include "actors/caf/own_thread.hpp"
#include "messages/fwd.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/fork_check.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/test_actor_clock.hpp>

#include <cstddef>

namespace leat {

/// CAF's actor system with all threads that its actors run in.
///
/// Every spawn from a thread that is not of the host has a `logger_release` around it.
class actor_host : not_copied {
public:
  /// Throws `errc::no_resources`.
  explicit actor_host(std::size_t control_threads);
  /// Joins all threads. Every actor has ended by then, or is about to without help.
  ~actor_host() = default;

  caf::actor_system& system() noexcept { return system_; }
  /// For actors that block.
  own_threads& threads() noexcept { return own_; }

private:
  struct configuration : caf::actor_system_config {
    configuration(control_threads& threads, caf::actor_clock& clock);
  };

  fork_hazard threads_live_;
  // First what can fail, last what ends first: threads that run actors use the system.
  control_threads control_;
  /// Stands still: no actor here waits for a time.
  caf::detail::test_actor_clock clock_;
  configuration config_;
  caf::actor_system system_;
  own_threads own_;
};

} // namespace leat
