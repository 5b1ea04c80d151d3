#pragma once

#include "python/module/python.hpp"

namespace leat::python {

void bind_batch(nb::module_& m);
void bind_device_arrays(nb::module_& m);
void bind_facts(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_images(nb::module_& m);
void bind_cluster(nb::module_& m);
void bind_loader(nb::module_& m);
void bind_log(nb::module_& m);
void bind_own_loader(nb::module_& m);
void bind_order(nb::module_& m);
void bind_pipeline(nb::module_& m);
void bind_registered(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_sources(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_transforms(nb::module_& m);

} // namespace leat::python
