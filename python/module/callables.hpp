#pragma once

#include "python/module/python.hpp"

#include <map>
#include <memory>
#include <vector>

namespace leat::python {

/// Holds the GIL for a while, in any thread. A thread of leat's keeps its Python state until it
/// ends: to make one for each call costs more than most functions take.
class gil_held {
public:
  /// Throws `errc::interrupted` once the interpreter ends. Without `keeps` the thread's state is
  /// made for this time alone: for threads that may outlive all loaders.
  explicit gil_held(bool keeps = true);
  ~gil_held();
  gil_held(const gil_held&) = delete;
  gil_held& operator=(const gil_held&) = delete;

private:
  PyGILState_STATE state_;
};

/// The interpreter is about to end: Python functions are not called any more, and objects that
/// threads still hold are left behind. Holds the GIL.
void end_python_calls() noexcept;
/// Waits until no thread of leat's has a Python state any more: after loaders have ended, threads
/// are still on their way out, and must not ask for the GIL of an interpreter that ends. Without
/// the GIL.
void wait_for_kept_states() noexcept;
/// In its place, where functions do not return: raises SystemExit in them, for those that run
/// Python code, as a thread that asks for the GIL of an interpreter that has ended is torn out of
/// C++ code. Others, which wait for something else, never will ask. Without the GIL.
void leave_abandoned_calls();
bool python_calls_ended() noexcept;

/// Python objects that C++ uses through borrowed pointers: held by the Python object of the
/// pipeline or loader, which shows them to the garbage collector. Thus a cycle through C++ is
/// found.
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
  /// None if there is none.
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

/// Objects that functions of Python made for C++ (a worker's own function, a reader), shown to the
/// garbage collector by whatever keeps those functions. Holds the GIL for all members.
class made_objects {
public:
  /// A new one, which `keeper` shows to the garbage collector.
  static std::shared_ptr<made_objects> shown_by(kept_objects& keeper);

  /// Keeps an object as long as the result lives, which any thread may drop.
  static std::shared_ptr<nb::handle> keep(const std::shared_ptr<made_objects>& in, nb::object x);

  int traverse(visitproc visit, void* arg) const;
  void clear() { auto dropped = std::move(all_); }

private:
  std::map<const nb::handle*, nb::object> all_;
};

void bind_made_objects(nb::module_& m);

/// An object that a worker's thread made and drops.
template <class T>
std::shared_ptr<T> dropped_with_gil(std::unique_ptr<T> x) {
  return {x.release(), [](T* dropped) {
            if (python_calls_ended())
              return; // left behind
            const auto state = PyGILState_Ensure();
            delete dropped;
            PyGILState_Release(state);
          }};
}

} // namespace leat::python
