#include "python/module/callables.hpp"

#include <leat/error.hpp>

#include <atomic>

namespace leat::python {

namespace {

std::atomic<bool> has_ended = false;

/// A thread's first call keeps its Python state; the last one is here.
class kept_state {
public:
  kept_state() = default;
  kept_state(const kept_state&) = delete;
  kept_state& operator=(const kept_state&) = delete;
  ~kept_state() {
    if (!is_kept_ || has_ended)
      return;
    (void)PyGILState_Ensure();
    PyGILState_Release(PyGILState_LOCKED); // of this call
    PyGILState_Release(first_);
  }

  void keep() {
    if (is_kept_ || PyGILState_GetThisThreadState())
      return;
    first_ = PyGILState_Ensure();
    is_kept_ = true;
    PyEval_SaveThread();
  }

private:
  bool is_kept_ = false;
  PyGILState_STATE first_ = PyGILState_UNLOCKED;
};

thread_local kept_state of_this_thread;

} // namespace

gil_held::gil_held() {
  if (has_ended)
    throw error(errc::interrupted, {.stage = "loader", .got = "the end of the Python interpreter"});
  of_this_thread.keep();
  state_ = PyGILState_Ensure();
}

gil_held::~gil_held() {
  PyGILState_Release(state_);
}

void end_python_calls() noexcept {
  has_ended = true;
}

bool python_calls_ended() noexcept {
  return has_ended;
}

} // namespace leat::python
