#pragma once

#include "actors/control_threads.hpp"
#include "actors/watched_actor.hpp"
#include "runtime/base/mutex.hpp"

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
class logger_release {
public:
  /// Throws std::bad_alloc.
  logger_release();
  ~logger_release();
  logger_release(const logger_release&) = delete;
  logger_release& operator=(const logger_release&) = delete;
};

/// Threads that are begun one by one and end by themselves. A thread that ends before join() is
/// left to the system: a program that never calls it has no ended thread that nobody joined. Any
/// thread.
class own_threads {
public:
  own_threads() = default;
  ~own_threads() { join(); }
  own_threads(const own_threads&) = delete;
  own_threads& operator=(const own_threads&) = delete;

  /// `stage`: what it is for, in errors. Throws `errc::no_resources`.
  void begin(const std::string& stage, std::function<void()> run);
  /// Waits until all have ended, and joins those that ran until now. For none of them; the last
  /// call.
  void join();

private:
  using place = std::list<std::thread>::iterator;

  /// The last that a thread does here.
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
  /// Throws `errc::no_resources`.
  static std::shared_ptr<own_thread> begin(caf::actor_system& system, own_threads& threads,
                                           const std::string& stage, others_run others);

  own_thread(caf::actor_system* system, others_run others)
      : caf::execution_unit(system), others_(others), here_(system) {}

  /// The first resumable that comes is the actor of this thread, whoever sends to it; others come
  /// from this thread alone, when its actor sends.
  void exec_later(caf::resumable* x) override;
  /// The actor is gone, or there is none: the thread ends.
  void close();

private:
  void run();

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
  ~actor_with_thread() override { thread_->close(); }
  actor_with_thread(const actor_with_thread&) = delete;
  actor_with_thread& operator=(const actor_with_thread&) = delete;

  using Actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    Actor::enqueue(std::move(what), thread_.get());
  }

private:
  std::shared_ptr<own_thread> thread_;
};

/// Spawns a stateful actor that blocks, as `system.spawn<caf::detached>(function, arguments...)`
/// would. Throws `errc::no_resources`; then nothing was begun.
template <class Function, class... Arguments>
auto spawn_in_thread(caf::actor_system& system, own_threads& threads, const std::string& stage,
                     failure_handler failed, others_run others, Function function,
                     Arguments&&... arguments) {
  using actor = caf::infer_impl_from_fun_t<Function>;
  auto thread = own_thread::begin(system, threads, stage, others);
  caf::actor_config config{thread.get()};
  caf::detail::init_fun_factory<actor, Function> factory;
  try {
    config.init_fun = factory(std::move(function), std::forward<Arguments>(arguments)...);
    return system.spawn_class<actor_with_thread<actor>, caf::no_spawn_options>(
        config, stage, std::move(failed), thread);
  } catch (...) {
    thread->close();
    throw;
  }
}

template <class Function, class... Arguments>
auto spawn_in_thread(caf::actor_system& system, own_threads& threads, const std::string& stage,
                     failure_handler failed, Function function, Arguments&&... arguments) {
  return spawn_in_thread(system, threads, stage, std::move(failed), others_run::elsewhere,
                         std::move(function), std::forward<Arguments>(arguments)...);
}

} // namespace leat
