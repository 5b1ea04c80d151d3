#include "python/module/without_gil.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

std::atomic<int> num_callers = 0;
std::atomic<bool> are_callers_to_end = false;

using ends = std::vector<std::future<void>>;

/// Ends that continue by themselves, after end_patiently() has returned. Guarded by the GIL.
ends*& ends_that_go_on() {
  static ends* all = new ends;
  return all;
}

bool is_over(const std::future<void>& x) {
  return x.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

/// False if, before it had ended, a signal's handler raised something or `most` had passed.
bool wait_for(const std::future<void>& end, signal_watch& signals, std::chrono::seconds most) {
  const auto limit = std::chrono::steady_clock::now() + most;
  while (end.wait_for(between_looks) != std::future_status::ready)
    if (!signals.look() || std::chrono::steady_clock::now() >= limit)
      return false;
  return true;
}

int raise_now(void* problem) {
  const auto value = nb::steal(static_cast<PyObject*>(problem));
  PyErr_SetObject(value.type().ptr(), value.ptr());
  return -1;
}

} // namespace

bool run_handlers() noexcept {
  return Py_MakePendingCalls() == 0;
}

caller_mark::caller_mark() noexcept {
  ++num_callers;
}

caller_mark::~caller_mark() {
  --num_callers;
  num_callers.notify_all();
}

bool callers_end() noexcept {
  return are_callers_to_end;
}

void end_callers() {
  are_callers_to_end = true;
  for (int n = num_callers; n > 0; n = num_callers)
    num_callers.wait(n);
}

void end_patiently(std::function<void()> end, std::chrono::seconds most) {
  if (python_calls_ended())
    return end();
  const caller_mark marked;
  signal_watch signals;
  std::future<void> running;
  bool is_done = true;
  // Shared, so that there is one copy, and the other thread drops what that holds.
  const auto task = std::make_shared<std::function<void()>>(std::move(end));
  {
    const nb::gil_scoped_release released;
    try {
      running = std::async(std::launch::async, [task] { std::exchange(*task, nullptr)(); });
    } catch (const std::system_error&) { // no other thread: runs it in this one
      std::exchange(*task, nullptr)();
    }
    is_done = !running.valid() || wait_for(running, signals, most);
  }
  auto& all = *ends_that_go_on();
  std::erase_if(all, is_over);
  if (!is_done)
    all.push_back(std::move(running));
  signals.check();
  if (is_done && running.valid())
    running.get();
}

std::function<void()> after_all_ends(std::function<void()> end) {
  const auto others = std::make_shared<ends>(std::exchange(*ends_that_go_on(), {}));
  return [others, end = std::move(end)] {
    for (const auto& x : *others)
      x.wait();
    end();
  };
}

void prepare_forks() {
  (void)pthread_atfork(nullptr, nullptr, [] {
    ends_that_go_on() = new ends; // waiting for those of the parent would never end
    num_callers = 0;
  });
}

void wait_for_ends() {
  ends all;
  {
    const gil_held held;
    all.swap(*ends_that_go_on());
  }
  signal_watch signals;
  for (const auto& x : all)
    if (!wait_for(x, signals, no_limit))
      end_process();
}

void end_process() noexcept {
  (void)std::signal(SIGINT, SIG_DFL);
  (void)std::raise(SIGINT);
}

void raise_later(nb::python_error problem) noexcept {
  auto* value = nb::borrow(problem.value()).release().ptr();
  if (Py_AddPendingCall(raise_now, value) != 0)
    nb::steal(value).reset();
}

} // namespace leat::python
