#include "actors/caf/own_thread.hpp"

#include "runtime/base/threads/begin_thread.hpp"

#include <caf/scheduler/abstract_coordinator.hpp>

#include <limits>
#include <utility>

namespace leat {

namespace {

struct logger_place {
  logger_place() noexcept { drop_logger(); }
};

} // namespace

logger_release::logger_release() {
  (void)of_this_thread<logger_place>();
}

logger_release::~logger_release() {
  drop_logger();
}

void own_threads::begin(const std::string& stage, std::function<void()> run) {
  mutex_lock lock{mutex_}; // held until the handle is in its place
  const auto me = running_.emplace(running_.end());
  try {
    *me = begin_thread(
        stage,
        [this, me, run = std::move(run)]() mutable {
          run();
          run = nullptr; // what it holds is gone before the thread counts as ended
          end(me);
        },
        drop_logger);
  } catch (...) {
    running_.erase(me);
    throw;
  }
}

void own_threads::end(place me) {
  mutex_lock lock{mutex_};
  if (is_joining_) {
    ended_.splice(ended_.end(), running_, me);
  } else {
    me->detach();
    running_.erase(me);
  }
  if (running_.empty())
    all_ended_.notify_all();
}

void own_threads::join() {
  std::list<std::thread> last;
  {
    mutex_lock lock{mutex_};
    is_joining_ = true;
    while (!running_.empty())
      all_ended_.wait(mutex_);
    last.swap(ended_);
  }
  for (auto& x : last)
    x.join();
}

std::shared_ptr<own_thread> own_thread::begin(caf::actor_system& system, own_threads& threads,
                                              const std::string& stage, others_run others) {
  const auto x = std::make_shared<own_thread>(&system, others);
  std::shared_ptr<own_thread> user{x.get(), [x](own_thread*) { x->close(); }};
  threads.begin(stage, [x] {
    x->run();
    drop_logger(); // which needs no memory: the thread has begun with it
  });
  return user;
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
  if (others_ == others_run::here)
    here_.exec_later(x);
  else
    system().scheduler().enqueue(x);
}

void own_thread::close() {
  mutex_lock lock{mutex_};
  closed_ = true;
  changed_.notify_one();
}

void own_thread::run() {
  // Others must not wait for its next message.
  const auto messages = others_ == others_run::here ? 1 : std::numeric_limits<std::size_t>::max();
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
    const auto result = actor->resume(this, messages);
    here_.run();
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
