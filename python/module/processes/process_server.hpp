#pragma once

#include "python/module/python.hpp"

namespace leat::python {

/// Binds what a process runs that was begun for the functions of a stage.
void bind_process_server(nb::module_& m);

} // namespace leat::python
