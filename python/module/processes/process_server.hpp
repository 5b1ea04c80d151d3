#pragma once

#include "python/module/python.hpp"

namespace leat::python {

/// Binds the main function of a process that was started for the functions of a stage.
void bind_process_server(nb::module_& m);

} // namespace leat::python
