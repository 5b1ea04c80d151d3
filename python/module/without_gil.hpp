#pragma once

#include <leat/patience.hpp>

#include "python/module/callables.hpp"
#include "python/module/python.hpp"

#include <chrono>
#include <functional>
#include <optional>

namespace leat::python {

inline constexpr std::chrono::hours no_limit{1 << 16};
/// How often a wait looks for signals: one that comes just before the wait does not end it.
inline constexpr std::chrono::milliseconds between_looks{100};

/// Runs the handlers of signals that have come, and raises what was to be raised later, as Python
/// does between two instructions. False if something was raised. Only in Python's main thread; in
/// others it does nothing. Holds the GIL.
bool run_handlers() noexcept;

/// Lets the handlers of signals run while Python's main thread is in C++; in other threads it does
/// nothing.
class signal_watch {
public:
  /// False once a handler has raised something. Without the GIL.
  bool look() {
    const gil_held held;
    if (raised_ || run_handlers())
      return !raised_;
    raised_.emplace();
    return false;
  }
  /// Throws what a handler raised. With the GIL.
  void check() {
    if (raised_)
      throw nb::python_error{*raised_};
  }

private:
  std::optional<nb::python_error> raised_;
};

/// Stands for a thread that is without the GIL, for the interpreter's end: a daemon thread that
/// asks for the GIL of an interpreter that ends is killed in the middle of C++. Made and destroyed
/// with the GIL.
class caller_mark {
public:
  caller_mark() noexcept;
  ~caller_mark();
  caller_mark(const caller_mark&) = delete;
  caller_mark& operator=(const caller_mark&) = delete;
};

/// A child of a fork has none of the threads that are counted here.
void prepare_forks();

/// From now on calls give up what they wait for. Waits until no other thread is without the GIL.
/// Without the GIL.
void end_callers();
bool callers_end() noexcept;

/// What a call gives that waits or works for long: without the GIL, and ended by what a signal's
/// handler raises.
template <class Call>
auto without_gil(Call what) {
  if (python_calls_ended()) // a thread that gave the GIL away would not come back
    return what();
  signal_watch signals;
  const caller_mark marked;
  try {
    const patience waits{[&signals] { return !callers_end() && signals.look(); }};
    const nb::gil_scoped_release released;
    return what();
  } catch (...) {
    signals.check(); // rather than what came of it
    throw;
  }
}

/// Ends something, which may wait for functions of Python: without the GIL, in another thread, so
/// that what a signal's handler raises comes out at once. The end then goes on by itself, and so it
/// does after `most`.
void end_patiently(std::function<void()> end, std::chrono::seconds most = no_limit);

/// First waits for those ends that go on by themselves.
std::function<void()> after_all_ends(std::function<void()> end);

/// Waits for those ends that go on by themselves; a signal whose handler raises something then ends
/// the process. Without the GIL.
void wait_for_ends();

/// As an unhandled ctrl-C does.
void end_process() noexcept;

/// Raised in the main thread as soon as it runs Python again, or waits in leat: for destructors and
/// others that must not throw.
void raise_later(nb::python_error problem) noexcept;

} // namespace leat::python
