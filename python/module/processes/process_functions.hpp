#pragma once

#include <leat/pipeline.hpp>

#include "python/module/callables.hpp"
#include "python/module/processes/process_team.hpp"
#include "python/module/python.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace leat::python {

/// The class leat.processes.Recipe. It is called with `make, *arguments, **options`, with which
/// each process creates its functions. Throws leat.InvalidArgument for functions that other
/// processes cannot import.
nb::object recipe_type();
/// A pool of so many processes, which start when loaders use them.
std::shared_ptr<process_pool> pool_of(kept_objects& keeper, std::string stage,
                                      std::size_t processes, nb::object recipe);

// Functions of stages that call functions in other processes. All workers share the processes,
// which end when the last of these functions is destroyed.

std::function<map_together_function()> map_in(std::shared_ptr<process_pool> pool);
std::function<std::function<bool(sample&)>()> filter_in(std::shared_ptr<process_pool> pool);
std::function<flat_map_function()> flat_map_in(std::shared_ptr<process_pool> pool);
std::function<scan_function()> scan_in(std::shared_ptr<process_pool> pool);
/// The reader of a source: the processes live as long as it does.
std::function<void(std::uint64_t, sample&)> reader_in(std::shared_ptr<process_pool> pool);

} // namespace leat::python
