#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/pipeline.hpp>
#include <leat/streams.hpp>

#include "python/module/callables.hpp"
#include "python/module/python.hpp"

namespace leat::python {

/// Ends what a value may have running, before its functions go. With the GIL.
template <class T>
void drop(T&) noexcept {}
void drop(pipeline& x) noexcept;

/// A value of leat with the Python functions that it calls.
template <class T>
struct with_functions {
  T value;
  kept_objects kept = {};

  ~with_functions() { drop(value); }
};

using map_value = with_functions<map_stage>;
using filter_value = with_functions<filter_stage>;
using flat_map_value = with_functions<flat_map_stage>;
using scan_value = with_functions<scan_stage>;
using pipeline_value = with_functions<pipeline>;

/// Shows the objects that a value keeps to the garbage collector.
template <class T>
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->kept.traverse(visit, arg) : 0;
}
template <class T>
int clear(PyObject* self) {
  nb::inst_ptr<T>(self)->kept.clear();
  return 0;
}
template <class T>
inline PyType_Slot garbage_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<T>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear<T>)},
    {0, nullptr},
};

/// Records the arguments with which a stage or source was made, from which its pipeline is pickled:
/// see leat/_pickling.py.
void keep_part(kept_objects& in, const char* kind, const std::string& name,
               const std::string& parameters, const nb::tuple& arguments,
               const nb::dict& options = {});

/// Records that the name is registered in this process, so that a pipeline's text suffices for it.
void note_registered(const char* kind, const std::string& name);

/// A map or filter that calls a Python function: see MapStage and FilterStage.
map_value make_map(std::string name, nb::object function, std::string parameters, bool per_worker,
                   bool batched, std::size_t processes);
filter_value make_filter(std::string name, nb::object function, std::string parameters, bool of_id,
                         std::size_t processes);

/// Python functions as functions of leat. They are borrowed: the user of the result keeps the
/// objects.
std::function<void(std::uint64_t, sample&)> reader_of(nb::handle function);
std::function<bool(sample&)> once_reader_of(nb::handle function);
std::function<std::unique_ptr<sequential_reader>(std::uint64_t)>
opener_of(nb::handle function, const std::shared_ptr<made_objects>& made);

/// Collects the objects that Python made while leat parsed a text: see register_map.
class parsing_keeps : not_copied {
public:
  parsing_keeps();
  ~parsing_keeps();

  const kept_objects& all() const noexcept { return kept_; }
  /// Adds an object to the innermost parsing_keeps of this thread, if there is one.
  static void add(nb::object x);

private:
  kept_objects kept_;
  parsing_keeps* outer_;
};

void bind_stages(nb::module_& m);

} // namespace leat::python
