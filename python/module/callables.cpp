#include "python/module/callables.hpp"

#include "runtime/base/threads/mutex.hpp"

#include <leat/error.hpp>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <vector>

namespace leat::python {

namespace {

std::atomic<bool> has_ended = false;
std::atomic<int> num_kept = 0;

/// The threads that keep a Python thread state, and how many are in Python now.
struct thread_list {
  mutex guard;
  std::vector<unsigned long> kept LEAT_GUARDED_BY(guard);
  condition_variable is_empty;
  std::atomic<bool> is_waited_for = false;
  std::atomic<int> inside = 0;

  /// Never destroyed: threads may outlive everything.
  static thread_list& get() {
    static auto* const x = new thread_list;
    return *x;
  }

  /// Before a thread asks for the GIL. False once the interpreter ends: whoever waits for the last
  /// ones has seen this one, or this sees that.
  bool enter() {
    ++inside;
    if (!has_ended)
      return true;
    leave();
    return false;
  }
  void leave() {
    if (--inside == 0 && is_waited_for) {
      const mutex_lock lock{guard};
      is_empty.notify_all();
    }
  }
};

/// Keeps a thread's Python state from its first call until the thread ends, when the destructor
/// gives it up.
class kept_state : not_copied {
public:
  ~kept_state() {
    if (!is_kept_ || !thread_list::get().enter())
      return;
    (void)PyGILState_Ensure();
    PyGILState_Release(PyGILState_LOCKED); // matches the PyGILState_Ensure above
    PyGILState_Release(first_);
    {
      auto& all = thread_list::get();
      const mutex_lock lock{all.guard};
      std::erase(all.kept, thread_);
    }
    thread_list::get().leave();
    if (is_awaited_)
      --num_kept;
    num_kept.notify_all();
  }

  void keep(bool is_awaited) {
    if (is_kept_ || PyGILState_GetThisThreadState())
      return;
    is_awaited_ = is_awaited;
    if (is_awaited_)
      ++num_kept;
    first_ = PyGILState_Ensure();
    is_kept_ = true;
    thread_ = PyThread_get_thread_ident();
    auto& all = thread_list::get();
    const mutex_lock lock{all.guard};
    all.kept.push_back(thread_);
    PyEval_SaveThread();
  }

private:
  bool is_kept_ = false;
  /// The end of the interpreter waits for it.
  bool is_awaited_ = false;
  unsigned long thread_ = 0;
  PyGILState_STATE first_ = PyGILState_UNLOCKED;
};

thread_local kept_state of_this_thread;

/// The Python object that shows `made_objects` to the garbage collector.
struct shown_objects {
  std::shared_ptr<made_objects> made;
};

int traverse_shown(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<shown_objects>(self)->made->traverse(visit, arg) : 0;
}

int clear_shown(PyObject* self) {
  nb::inst_ptr<shown_objects>(self)->made->clear();
  return 0;
}

PyType_Slot shown_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_shown)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_shown)},
    {0, nullptr},
};

} // namespace

gil_held::gil_held(keeps what) {
  if (!thread_list::get().enter())
    throw error(errc::interrupted, {.stage = "loader", .got = "the end of the Python interpreter"});
  if (what != keeps::nothing)
    of_this_thread.keep(what == keeps::state);
  state_ = PyGILState_Ensure();
}

void wait_for_kept_states() noexcept {
  for (int n = num_kept; n > 0; n = num_kept)
    num_kept.wait(n);
}

gil_held::~gil_held() {
  thread_list::get().leave();
  PyGILState_Release(state_);
}

void leave_abandoned_calls() {
  auto& all = thread_list::get();
  {
    const nb::gil_scoped_acquire held;
    const mutex_lock lock{all.guard};
    for (const auto thread : all.kept)
      PyThreadState_SetAsyncExc(thread, PyExc_SystemExit);
  }
  wait_for_last_calls();
}

void wait_for_last_calls() {
  auto& all = thread_list::get();
  all.is_waited_for = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
  const mutex_lock lock{all.guard};
  while (all.inside > 0 && all.is_empty.wait_until(all.guard, end)) {
  }
}

void end_python_calls() noexcept {
  has_ended = true;
}

bool python_calls_ended() noexcept {
  return has_ended;
}

std::shared_ptr<made_objects> made_objects::shown_by(kept_objects& keeper) {
  auto made = std::make_shared<made_objects>();
  keeper.add(nb::cast(shown_objects{made}));
  return made;
}

std::shared_ptr<nb::handle> made_objects::keep(const std::shared_ptr<made_objects>& in,
                                               nb::object x) {
  auto held = std::make_unique<nb::handle>(x);
  in->all_.emplace(held.get(), std::move(x));
  return {held.release(), [in](const nb::handle* dropped) {
            if (python_calls_ended())
              return; // leaked: the interpreter is gone
            const auto state = PyGILState_Ensure();
            in->all_.extract(dropped);
            delete dropped;
            PyGILState_Release(state);
          }};
}

int made_objects::traverse(visitproc visit, void* arg) const {
  for (const auto& [at, x] : all_)
    Py_VISIT(x.ptr());
  return 0;
}

void bind_made_objects(nb::module_& m) {
  // None of these threads exists in the child of a fork.
  (void)pthread_atfork(nullptr, nullptr, [] { num_kept = thread_list::get().inside = 0; });
  nb::class_<shown_objects>(m, "_MadeObjects", nb::type_slots(shown_slots));
}

} // namespace leat::python
