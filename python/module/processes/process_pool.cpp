#include "python/module/processes/process_pool.hpp"

#include "runtime/base/error_in_flight.hpp"

#include "python/module/convert/bytes.hpp"
#include "python/module/errors.hpp"
#include "python/module/without_gil.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

nb::module_ helpers() {
  return nb::module_::import_("leat.processes");
}

/// Runs the handlers of signals that came while the thread waited; throws what they raise, such as
/// KeyboardInterrupt.
void heed_signals() {
  const gil_held held;
  if (run_handlers())
    return;
  nb::python_error raised;
  throw_for_job(raised);
}

std::string content_of(nb::handle x) {
  const auto bytes = nb::cast<nb::bytes>(x);
  return {bytes.c_str(), bytes.size()};
}

/// What leat.processes says about a start; its exceptions become errors of a job.
child_start start_of(nb::handle recipe, const std::string& stage) {
  const gil_held held;
  try {
    const nb::tuple start = nb::cast<nb::tuple>(recipe.attr("start")());
    child_start result;
    for (const auto& word : start[0])
      result.arguments.push_back(content_of(word));
    result.content = content_of(start[1]);
    return result;
  } catch (nb::python_error& problem) {
    if (problem.matches(PyExc_OSError) || problem.matches(PyExc_MemoryError))
      throw_error(errc::no_resources, stage, text_of(problem),
                  "a machine that lets processes begin");
    if (problem.matches(PyExc_Exception))
      throw error(errc::worker_lost, {.stage = stage, .got = text_of(problem)});
    throw_through(problem);
  }
}

[[noreturn]] void raise(const std::string& text, std::string_view pickled) {
  const gil_held held;
  throw_through(helpers().attr("raised")(to_bytes(pickled)), text);
}

child_recipe recipe_of(std::string stage, std::size_t processes,
                       std::function<child_start()> start) {
  return {.stage = std::move(stage),
          .processes = processes,
          .start = std::move(start),
          .look = heed_signals,
          .raise = raise};
}

} // namespace

nb::object recipe_type() {
  return helpers().attr("Recipe");
}

std::shared_ptr<child_pool> pool_of(kept_objects& keeper, std::string stage, std::size_t processes,
                                    nb::object recipe) {
  const auto kept = keeper.add(std::move(recipe));
  return std::make_shared<child_pool>(
      recipe_of(stage, processes, [kept, stage] { return start_of(kept, stage); }));
}

std::function<map_together_function()> isolated_in(std::string stage,
                                                   std::shared_ptr<nb::handle> recipe) {
  return map_isolated_in(recipe_of(
      stage, 1, [stage, recipe = std::move(recipe)] { return start_of(*recipe, stage); }));
}

void isolate_own_maps() {
  set_map_children([](const std::string& name, const std::string& parameters) {
    const gil_held held;
    const auto recipe = dropped_with_gil(std::make_unique<nb::object>(
        helpers().attr("own_map_recipe")(as_message(name), as_message(parameters))));
    return recipe_of(name, 1, [name, recipe] { return start_of(*recipe, name); });
  });
}

} // namespace leat::python
