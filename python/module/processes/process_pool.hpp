#pragma once

#include <leat/child_functions.hpp>

#include "python/module/callables.hpp"
#include "python/module/python.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace leat::python {

/// The class leat.processes.Recipe. It is called with `make, *arguments, **options`, with which
/// each process creates its functions. Throws leat.InvalidArgument for functions that other
/// processes cannot import.
nb::object recipe_type();
/// A pool of so many processes, which start when loaders use them.
std::shared_ptr<child_pool> pool_of(kept_objects& keeper, std::string stage, std::size_t processes,
                                    nb::object recipe);

/// How a map is called in one process per worker.
std::function<map_together_function()> isolated_in(std::string stage,
                                                   std::shared_ptr<nb::handle> recipe);
/// leat's own maps are isolated in processes of this interpreter from now on.
void isolate_own_maps();

} // namespace leat::python
