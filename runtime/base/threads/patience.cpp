#include "runtime/base/threads/patience.hpp"

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/gate.hpp"

#include <leat/patience.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace leat {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::hours no_limit{24};

/// The caller that this thread works for; null in helpers.
thread_local patience* of_caller = nullptr;
/// The flag of the team of threads in which this thread works, set once the caller has given up.
thread_local std::atomic<bool>* given_up = nullptr;

class team_scope : not_copied {
public:
  explicit team_scope(std::atomic<bool>& stop) : outer_(std::exchange(given_up, &stop)) {}
  ~team_scope() { given_up = outer_; }

private:
  std::atomic<bool>* outer_;
};

/// Replaces this thread's caller while it lives.
class caller_scope : not_copied {
public:
  explicit caller_scope(patience* x) : inner_(std::exchange(of_caller, x)) {}
  ~caller_scope() { of_caller = inner_; }

private:
  patience* inner_;
};

} // namespace

patience_ended::patience_ended()
    : error(errc::interrupted, {.stage = "loader", .got = "a caller who waits no longer"}) {}

patience::patience(std::function<bool()> goes_on, std::chrono::milliseconds interval)
    : goes_on_(std::move(goes_on)), interval_(interval), outer_(of_caller) {
  if (goes_on_)
    of_caller = this;
}

patience::~patience() {
  of_caller = outer_;
}

steady_clock::time_point patience::next() {
  if (next_ == steady_clock::time_point{}) // the first wait begins now
    next_ = steady_clock::now() + interval_;
  return next_;
}

bool patience::lasts() {
  const bool goes_on = goes_on_();
  next_ = steady_clock::now() + interval_;
  return goes_on;
}

bool outer_caller_lasts() {
  if (!of_caller || !of_caller->outer_)
    return true;
  const caller_scope outer{of_caller->outer_}; // which may ask its own outer one
  return of_caller->lasts();
}

void check_patience() {
  if (given_up && *given_up)
    throw patience_ended{};
  if (!of_caller)
    return;
  const auto next = of_caller->next(); // the first call begins the wait, so before the time is read
  if (steady_clock::now() < next || of_caller->lasts())
    return;
  if (given_up)
    *given_up = true;
  throw patience_ended{};
}

steady_clock::time_point end_of_patience() {
  return of_caller ? of_caller->next() : steady_clock::now() + no_limit;
}

void run_in_threads(std::size_t threads, const std::function<void()>& work) {
  std::atomic<bool> stop = false;
  const team_scope with_others{stop};
  const auto lives = std::make_shared<gate>();
  joined_threads helpers;
  try {
    for (std::size_t i = 1; i < threads; ++i)
      helpers.add("helper", [&work, &stop, token = gate_token{lives}] {
        const team_scope with_caller{stop};
        work();
      });
  } catch (...) {
    // This thread and those that could be created do the work.
  }
  work();
  try {
    while (!lives->wait_until_none(end_of_patience()))
      check_patience();
  } catch (const patience_ended&) {
    stop = true;
  }
  helpers.join();
  if (stop)
    throw patience_ended{};
}

} // namespace leat
