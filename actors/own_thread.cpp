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
    std::lock_guard lock{mutex_};
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
  std::lock_guard lock{mutex_};
  closed_ = true;
  changed_.notify_one();
}

void own_thread::run() {
  constexpr auto all_messages = std::numeric_limits<std::size_t>::max();
  for (;;) {
    {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [&] { return is_ready_ || closed_; });
      if (!is_ready_)
        return;
      is_ready_ = false;
    }
    const auto result = actor_->resume(this, all_messages);
    if (result == caf::resumable::resume_later)
      exec_later(actor_);
    else if (result == caf::resumable::awaiting_message)
      caf::intrusive_ptr_release(actor_); // that of whoever said that it is ready
    else
      break;
  }
  caf::intrusive_ptr_release(actor_);
}

} // namespace leat
