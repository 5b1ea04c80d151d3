#pragma once

#include "runtime/base/not_copied.hpp"

#include "python/module/python.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace leat::python {

/// Holds the GIL while it lives, in any thread. A thread of leat keeps its Python thread state
/// until the thread ends, since creating one for each call costs more than most functions take.
class gil_held : not_copied {
public:
  enum class keeps : std::uint8_t {
    /// The thread state is created for this time only: for threads that may outlive all loaders.
    nothing,
    state,
    /// As `state`, of a thread that may wait for as long as the program has some object: the end of
    /// the interpreter does not wait for it.
    idle_state
  };
  /// Throws `errc::interrupted` once the interpreter ends.
  explicit gil_held(keeps what = keeps::state);
  ~gil_held();

private:
  PyGILState_STATE state_;
};

/// Called before the interpreter ends: from now on no Python function is called, and objects that
/// threads still hold are leaked. Holds the GIL.
void end_python_calls() noexcept;
/// Waits until no thread of leat has a Python state any more: after loaders have ended, threads may
/// still be finishing, and must not ask for the GIL of an interpreter that ends. Without the GIL.
void wait_for_kept_states() noexcept;
/// Called instead if functions do not return. Raises SystemExit in those that run Python code: a
/// thread that asks for the GIL of an interpreter that has ended is killed in the middle of C++
/// code. Threads that wait for anything else will never ask for it. Without the GIL.
void leave_abandoned_calls();
/// Waits for the calls that had begun before end_python_calls, for a second at most. Without the
/// GIL.
void wait_for_last_calls();
bool python_calls_ended() noexcept;

/// Python objects that C++ uses through borrowed pointers. The Python object of the pipeline or
/// loader holds them and shows them to the garbage collector, which thus finds cycles through C++.
class kept_objects {
public:
  nb::handle add(nb::object x) {
    objects_.push_back(std::move(x));
    return objects_.back();
  }
  void add(const kept_objects& x) {
    objects_.insert(objects_.end(), x.objects_.begin(), x.objects_.end());
  }
  const std::vector<nb::object>& all() const noexcept { return objects_; }
  /// The first object; None if there is none.
  nb::object first() const { return objects_.empty() ? nb::none() : objects_.front(); }
  int traverse(visitproc visit, void* arg) const {
    for (const auto& x : objects_)
      Py_VISIT(x.ptr());
    return 0;
  }
  void clear() { auto dropped = std::move(objects_); }

private:
  std::vector<nb::object> objects_;
};

/// Objects that Python functions made for C++ (a worker's own function, a reader), shown to the
/// garbage collector by whatever keeps those functions. All members require the GIL.
class made_objects {
public:
  /// A new object, which `keeper` shows to the garbage collector.
  static std::shared_ptr<made_objects> shown_by(kept_objects& keeper);

  /// Keeps an object as long as the result lives. Any thread may drop the result.
  static std::shared_ptr<nb::handle> keep(const std::shared_ptr<made_objects>& in, nb::object x);

  int traverse(visitproc visit, void* arg) const;
  void clear() { auto dropped = std::move(all_); }

private:
  std::map<const nb::handle*, nb::object> all_;
};

void bind_made_objects(nb::module_& m);

/// Shares an object that a worker's thread drops without holding the GIL, which is acquired for
/// that.
template <class T>
std::shared_ptr<T> dropped_with_gil(std::unique_ptr<T> x) {
  return {x.release(), [](T* dropped) {
            if (python_calls_ended())
              return; // leaked: the interpreter is gone
            const auto state = PyGILState_Ensure();
            delete dropped;
            PyGILState_Release(state);
          }};
}

} // namespace leat::python
