#include "actors/own_thread.hpp"

#include "runtime/base/begin_thread.hpp"

#include <caf/scheduler/abstract_coordinator.hpp>

#include <limits>

namespace leat {

std::shared_ptr<own_thread> own_thread::begin(caf::actor_system& system, const std::string& stage) {
  auto x = std::make_shared<own_thread>(&system);
  begin_thread(stage, [x] { x->run(); }).detach();
  return x;
}

void own_thread::exec_later(caf::resumable* x) {
  {
    mutex_lock lock{mutex_};
    if (!actor_)
      actor_ = x;
    if (x == actor_) {
      is_ready_ = true;
      changed_.notify_one();
      return;
    }
  }
  system().scheduler().enqueue(x);
}

void own_thread::close() {
  mutex_lock lock{mutex_};
  closed_ = true;
  changed_.notify_one();
}

void own_thread::run() {
  constexpr auto all_messages = std::numeric_limits<std::size_t>::max();
  caf::resumable* actor = nullptr;
  for (;;) {
    {
      mutex_lock lock{mutex_};
      while (!is_ready_ && !closed_)
        changed_.wait(mutex_);
      if (!is_ready_)
        return;
      is_ready_ = false;
      actor = actor_;
    }
    const auto result = actor->resume(this, all_messages);
    if (result == caf::resumable::resume_later)
      exec_later(actor);
    else if (result == caf::resumable::awaiting_message)
      caf::intrusive_ptr_release(actor); // the reference of whoever queued it
    else
      break;
  }
  caf::intrusive_ptr_release(actor);
}

} // namespace leat
