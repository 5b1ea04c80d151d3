#include "python/module/module.hpp"

#include "python/module/callables.hpp"
#include "python/module/errors.hpp"
#include "python/module/loader.hpp"
#include "python/module/sample.hpp"
#include "python/module/stages.hpp"

#include <stdexcept>

NB_MODULE(_leat, m) {
  using namespace leat::python;
  // There is one GIL here: the PyGILState functions support only the main interpreter.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0)
    throw std::runtime_error("leat works in a process's first interpreter; needed: a process "
                             "(multiprocessing, subprocess) in place of another interpreter");
  m.doc() = "The C++ part of leat.";
  m.attr("__version__") = LEAT_VERSION;
  nb::set_leak_warnings(false); // registered functions live as long as the process
  bind_errors(m);
  bind_made_objects(m);
  bind_sample(m);
  bind_stages(m);
  bind_registered(m);
  bind_pipeline(m);
  bind_sources(m);
  bind_tables(m);
  bind_transforms(m);
  bind_functions(m);
  bind_device_arrays(m);
  bind_batch(m);
  bind_cluster(m);
  bind_helpers(m);
  bind_runtime(m);
  bind_loader(m);
  bind_own_loader(m);
  bind_images(m);
  bind_order(m);
  bind_facts(m);
  bind_log(m);
  bind_process_server(m);
  bind_wrong_calls(m);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_loaders));
}
