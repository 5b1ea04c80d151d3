#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/patience.hpp>

#include "python/module/callables.hpp"
#include "python/module/python.hpp"

#include <chrono>
#include <functional>
#include <optional>

namespace leat::python {

inline constexpr std::chrono::hours no_limit{1 << 16};
/// How often a wait checks for signals, since one that comes just before the wait does not end it.
inline constexpr std::chrono::milliseconds between_looks{100};

/// Runs the handlers of pending signals, and raises what was to be raised later, as Python does
/// between two instructions. False if something was raised. Does nothing in threads other than
/// Python's main thread. Holds the GIL.
bool run_handlers() noexcept;

/// Runs the handlers of signals while Python's main thread is in C++; does nothing in other
/// threads.
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

/// Marks a thread as being in leat without the GIL, so that the end of the interpreter waits for
/// it: a daemon thread that asks for the GIL of an interpreter that ends is killed in the middle of
/// C++. Created and destroyed with the GIL.
class caller_mark : not_copied {
public:
  caller_mark() noexcept;
  ~caller_mark();
};

/// Registers a handler for forks: a child has none of the threads that are counted here.
void prepare_forks();

/// From now on calls give up what they wait for. Waits until no other thread is in leat without the
/// GIL. Without the GIL.
void end_callers();
bool callers_end() noexcept;

/// Makes a call that may take long without the GIL, and returns its result. The call ends early if
/// a signal's handler raises something, which this then throws.
template <class Call>
auto without_gil(Call what) {
  if (python_calls_ended()) // a thread that released the GIL could not get it back
    return what();
  signal_watch signals;
  const caller_mark marked;
  try {
    const patience waits{[&signals] { return !callers_end() && signals.look(); }};
    const nb::gil_scoped_release released;
    return what();
  } catch (...) {
    signals.check(); // what the handler raised, not the error that followed from it
    throw;
  }
}

/// Ends something that may wait for Python functions: without the GIL and in another thread, so
/// that what a signal's handler raises is thrown at once. The end then continues by itself, as it
/// does after `most`.
void end_patiently(std::function<void()> end, std::chrono::seconds most = no_limit);

/// `end`, preceded by a wait for the ends that continue by themselves.
std::function<void()> after_all_ends(std::function<void()> end);

/// Waits for the ends that continue by themselves; meanwhile a signal whose handler raises
/// something ends the process. Without the GIL.
void wait_for_ends();

/// Ends the process as an unhandled ctrl-C does.
void end_process() noexcept;

/// Raises an exception in the main thread as soon as that runs Python again or waits in leat: for
/// destructors and other code that must not throw.
void raise_later(nb::python_error problem) noexcept;

} // namespace leat::python
