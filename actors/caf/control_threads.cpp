#include "actors/caf/control_threads.hpp"

#include "runtime/base/threads/begin_thread.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/logger.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scoped_execution_unit.hpp>
#include <caf/spawn_options.hpp>

namespace leat {

namespace {

/// Runs at most this many messages. True if it has to be queued again; otherwise it may be gone.
bool has_more_after(caf::resumable& x, caf::execution_unit& unit, std::size_t messages) {
  if (x.resume(&unit, messages) == caf::resumable::resume_later)
    return true;
  caf::intrusive_ptr_release(&x); // the reference of whoever queued it
  return false;
}

} // namespace

void drop_logger() noexcept {
  caf::logger::set_current_actor_system(nullptr);
}

control_threads::control_threads(const std::string& stage, std::size_t threads) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads)
      threads_.push_back(begin_thread(
          stage, [this] { run(); }, drop_logger));
  } catch (...) {
    stop();
    throw;
  }
}

control_threads::~control_threads() {
  stop();
}

void control_threads::stop() {
  {
    mutex_lock lock{mutex_};
    stopping_ = true;
    changed_.notify_all();
  }
  for (auto& x : threads_)
    x.join();
  threads_.clear();
}

void control_threads::set_system(caf::actor_system& system) {
  mutex_lock lock{mutex_};
  system_ = &system;
}

void control_threads::push(caf::resumable* x) {
  {
    mutex_lock lock{mutex_};
    if (free_.empty())
      free_.emplace_back();
    free_.front() = x;
    ready_.splice(ready_.end(), free_, free_.begin());
  }
  changed_.notify_one();
}

void control_threads::run() {
  mutex_lock lock{mutex_};
  for (;;) {
    while (!stopping_ && ready_.empty())
      changed_.wait(mutex_);
    if (ready_.empty())
      return;
    auto* const x = ready_.front();
    auto* const system = system_;
    free_.splice(free_.begin(), ready_, ready_.begin());
    lock.unlock();
    caf::scoped_execution_unit unit{system};
    if (has_more_after(*x, unit, messages_at_a_time))
      push(x);
    lock.lock();
  }
}

void handlers_here::run() {
  constexpr std::size_t few_messages = 8;
  for (std::size_t i = 0; i < count_; ++i) { // they may make others ready
    auto* const x = ready_[i];
    if (has_more_after(*x, *this, few_messages))
      system().scheduler().enqueue(x);
  }
  count_ = 0;
}

void handlers_here::exec_later(caf::resumable* x) {
  if (count_ < ready_.size())
    ready_[count_++] = x;
  else
    system().scheduler().enqueue(x);
}

namespace {

class scheduler final : public caf::scheduler::abstract_coordinator {
public:
  scheduler(control_threads& threads, caf::actor_clock& clock, caf::actor_system& system)
      : abstract_coordinator(system), threads_(threads), clock_(clock) {
    threads_.set_system(system);
  }

  /// Takes the place of CAF's printer, which would be one more thread. This one ends at the first
  /// line, and drops all; if there were none, CAF would write by itself.
  void start() override {
    const auto printer = [](caf::event_based_actor*, int) {};
    utility_actors_[printer_id] = system_.spawn<caf::hidden + caf::lazy_init>(printer, 0);
  }
  void stop() override {
    threads_.stop();
    utility_actors_[printer_id] = nullptr;
  }
  void enqueue(caf::resumable* x) override { threads_.push(x); }
  caf::actor_clock& clock() noexcept override { return clock_; }

private:
  control_threads& threads_;
  caf::actor_clock& clock_;
};

} // namespace

caf::actor_system::module* scheduler_over(control_threads& threads, caf::actor_clock& clock,
                                          caf::actor_system& system) {
  return new scheduler{threads, clock, system};
}

} // namespace leat
