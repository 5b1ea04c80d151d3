#include "python/module/without_gil.hpp"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

constexpr std::chrono::milliseconds between_looks{100};

using ends = std::vector<std::future<void>>;

/// Guarded by the GIL.
ends*& ends_that_go_on() {
  static ends* all = [] {
    // A child of a fork does not have those threads; waiting for them would never end.
    (void)pthread_atfork(nullptr, nullptr, [] { ends_that_go_on() = new ends; });
    return new ends;
  }();
  return all;
}

bool has_ended(const std::future<void>& x) {
  return x.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

/// False if a signal's handler raised something before it had ended.
bool wait_for(const std::future<void>& end, signal_watch& signals) {
  while (end.wait_for(between_looks) != std::future_status::ready)
    if (!signals.look())
      return false;
  return true;
}

int raise_now(void* problem) {
  const auto value = nb::steal(static_cast<PyObject*>(problem));
  PyErr_SetObject(value.type().ptr(), value.ptr());
  return -1;
}

} // namespace

void end_patiently(std::function<void()> end) {
  signal_watch signals;
  std::future<void> running;
  bool is_done = true;
  // One copy, which drops what it holds in the other thread.
  const auto task = std::make_shared<std::function<void()>>(std::move(end));
  {
    const nb::gil_scoped_release released;
    try {
      running = std::async(std::launch::async, [task] { std::exchange(*task, nullptr)(); });
    } catch (const std::system_error&) { // no thread: then this one
      std::exchange(*task, nullptr)();
    }
    is_done = !running.valid() || wait_for(running, signals);
  }
  auto& all = *ends_that_go_on();
  std::erase_if(all, has_ended);
  if (!is_done)
    all.push_back(std::move(running));
  signals.check();
  if (running.valid())
    running.get();
}

void wait_for_ends() {
  ends all;
  {
    const gil_held held;
    all.swap(*ends_that_go_on());
  }
  signal_watch signals;
  for (const auto& x : all)
    if (!wait_for(x, signals))
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
