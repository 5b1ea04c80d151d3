#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/execution_unit.hpp>
#include <caf/resumable.hpp>

#include <array>
#include <cstddef>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace leat {

/// Drops the logger that CAF keeps for the calling thread. A thread that runs actors begins with
/// it: the first use needs memory.
void drop_logger() noexcept;

/// The threads that run short handlers, with one queue for all. CAF's own scheduler ends the
/// process if one of its threads cannot be made; these exist before it does.
class control_threads : not_copied {
public:
  /// Messages of one actor that are handled before others get a turn.
  static constexpr std::size_t messages_at_a_time = 32;

  /// `stage`: what they are for, in errors. Throws `errc::no_resources`.
  control_threads(const std::string& stage, std::size_t threads);
  /// See stop().
  ~control_threads();

  /// Called before the first push.
  void set_system(caf::actor_system& system);
  void push(caf::resumable* x);
  /// Waits until all that is queued has run, and ends the threads. Nothing may be pushed
  /// afterwards. May be called again.
  void stop();

private:
  static constexpr std::size_t places = 256;

  void run();

  mutex mutex_;
  condition_variable changed_;
  caf::actor_system* system_ LEAT_GUARDED_BY(mutex_) = nullptr;
  /// Allocates nothing unless more actors than `places` are ready: an actor whose message found no
  /// place here would never run again.
  std::list<caf::resumable*> ready_ LEAT_GUARDED_BY(mutex_);
  std::list<caf::resumable*> free_ LEAT_GUARDED_BY(mutex_){places};
  bool stopping_ LEAT_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

/// Runs the short handlers that messages of one thread made ready in that thread, once it has
/// nothing else to do: cheaper than to wake another one. Used by one thread at a time.
class handlers_here final : public caf::execution_unit {
public:
  explicit handlers_here(caf::actor_system* system) : caf::execution_unit(system) {}

  /// Needs no memory.
  void exec_later(caf::resumable* x) override;
  /// Runs what is ready, and what that makes ready. An actor with many messages is left to the
  /// control threads.
  void run();

private:
  std::array<caf::resumable*, 16> ready_{};
  std::size_t count_ = 0;
};

/// For caf::actor_system_config::module_factories. The threads outlive the system, whose destructor
/// stops them, and so does the clock.
caf::actor_system::module* scheduler_over(control_threads& threads, caf::actor_clock& clock,
                                          caf::actor_system& system);

} // namespace leat
