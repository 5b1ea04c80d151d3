#pragma once

#include "actors/caf/control_threads.hpp"
#include "actors/caf/watched_actor.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/detail/init_fun_factory.hpp>
#include <caf/execution_unit.hpp>
#include <caf/infer_handle.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/resumable.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace leat {

/// CAF leaves a reference to a system's logger behind in each thread that spawns an actor, and
/// ~actor_system waits until all of them are gone: in a trainer's thread, which lives on, for ever.
/// At its end this drops the one of its thread.
class logger_release : not_copied {
public:
  /// Throws std::bad_alloc.
  logger_release();
  ~logger_release();
};

/// Threads that are begun one by one and end by themselves. A thread that ends before join() is
/// left to the system: a program that never calls join() leaves no ended thread unjoined. Any
/// thread.
class own_threads : not_copied {
public:
  ~own_threads() { join(); }

  /// `stage`: what it is for, in errors. Throws `errc::no_resources`.
  void begin(const std::string& stage, std::function<void()> run);
  /// Waits until all have ended, and joins those that ran until now. Not for one of these threads;
  /// the last call.
  void join();

private:
  using place = std::list<std::thread>::iterator;

  /// The last thing that a thread does here.
  void end(place me);

  mutex mutex_;
  condition_variable all_ended_;
  bool is_joining_ LEAT_GUARDED_BY(mutex_) = false;
  std::list<std::thread> running_ LEAT_GUARDED_BY(mutex_);
  /// To be joined.
  std::list<std::thread> ended_ LEAT_GUARDED_BY(mutex_);
};

/// What an own thread does with the short handlers of others that its actor's messages make ready.
enum class others_run : std::uint8_t {
  /// Leaves them to the control threads: its own handlers may block, or take long.
  elsewhere,
  /// Runs them after each of its own: these send at their very end.
  here,
};

/// A thread that runs one actor. CAF's own way, `spawn<detached>`, leaves an actor that never
/// begins and never ends if its thread cannot be made; here the thread comes first.
class own_thread final : public caf::execution_unit {
public:
  /// The thread ends with the last reference to what this returns. Throws `errc::no_resources`.
  static std::shared_ptr<own_thread> begin(caf::actor_system& system, own_threads& threads,
                                           const std::string& stage,
                                           others_run others = others_run::elsewhere);

  own_thread(caf::actor_system* system, others_run others)
      : caf::execution_unit(system), others_(others), here_(system) {}

  /// The first resumable that comes is the actor of this thread, whoever sends to it; others come
  /// from this thread alone, when its actor sends.
  void exec_later(caf::resumable* x) override;

private:
  void run();
  /// The actor is gone, or there is none: the thread ends.
  void close();

  const others_run others_;
  handlers_here here_;
  mutex mutex_;
  condition_variable changed_;
  caf::resumable* actor_ LEAT_GUARDED_BY(mutex_) = nullptr;
  bool is_ready_ LEAT_GUARDED_BY(mutex_) = false;
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;
};

/// An actor that runs in its own thread, whoever sends to it.
template <class Actor>
class actor_with_thread final : public watched_actor<Actor> {
public:
  actor_with_thread(caf::actor_config& config, const std::string& stage, failure_handler failed,
                    std::shared_ptr<own_thread> thread)
      : watched_actor<Actor>(config, stage, std::move(failed)), thread_(std::move(thread)) {}

  using Actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    Actor::enqueue(std::move(what), thread_.get());
  }

private:
  std::shared_ptr<own_thread> thread_;
};

/// Spawns a stateful actor in a thread that has no other, and was begun for it.
template <class Function, class... Arguments>
auto spawn_in(std::shared_ptr<own_thread> thread, const std::string& stage, failure_handler failed,
              Function function, Arguments&&... arguments) {
  using actor = caf::infer_impl_from_fun_t<Function>;
  caf::actor_config config{thread.get()};
  caf::detail::init_fun_factory<actor, Function> factory;
  config.init_fun = factory(std::move(function), std::forward<Arguments>(arguments)...);
  return thread->system().spawn_class<actor_with_thread<actor>, caf::no_spawn_options>(
      config, stage, std::move(failed), thread);
}

/// Spawns a stateful actor that blocks, as `system.spawn<caf::detached>(function, arguments...)`
/// would. Throws `errc::no_resources`; then nothing was begun.
template <class Function, class... Arguments>
auto spawn_in_thread(caf::actor_system& system, own_threads& threads, const std::string& stage,
                     failure_handler failed, Function function, Arguments&&... arguments) {
  return spawn_in(own_thread::begin(system, threads, stage), stage, std::move(failed),
                  std::move(function), std::forward<Arguments>(arguments)...);
}

} // namespace leat
