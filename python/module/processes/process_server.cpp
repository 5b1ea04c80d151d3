#include <leat/child_functions.hpp>

#include "python/module/callables.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"
#include "python/module/processes/process_pool.hpp"
#include "python/module/stages.hpp"

#include <string>
#include <vector>

namespace leat::python {

namespace {

std::vector<served_function> functions_of(nb::handle made) {
  if (nb::isinstance<map_value>(made))
    return served(nb::cast<map_value&>(made).value);
  if (nb::isinstance<filter_value>(made))
    return served(nb::cast<filter_value&>(made).value);
  if (nb::isinstance<flat_map_value>(made))
    return served(nb::cast<flat_map_value&>(made).value);
  if (nb::isinstance<scan_value>(made))
    return served(nb::cast<scan_value&>(made).value);
  return served_reader(reader_of(made));
}

void serve(nb::handle made, const std::string& refusal) {
  served_functions functions;
  functions.refusal = refusal;
  if (refusal.empty())
    functions.all = functions_of(made);
  const nb::object flush = nb::module_::import_("leat.processes").attr("flush");
  functions.flush = [&flush] { // after every few calls: it has to be quick
    const gil_held held;
    flush();
  };
  functions.raised = [] {
    const gil_held held;
    return pickled_through();
  };
  const nb::gil_scoped_release released; // the functions acquire it
  serve_functions(functions);
}

} // namespace

void bind_process_server(nb::module_& m) {
  m.def("_serve_functions", &serve, "made"_a.none(), "refusal"_a);
  m.def("_end_with_parent", &end_with_parent, "parent"_a);
  m.attr("_child_content") = child_content;
  m.def(
      "_own_map",
      [](const std::string& name, const std::string& parameters) {
        return map_value{map_by_name(name, parameters)};
      },
      "name"_a, "parameters"_a);
  isolate_own_maps();
}

} // namespace leat::python
