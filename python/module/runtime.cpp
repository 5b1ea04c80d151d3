#include <leat/runtime.hpp>
#include <leat/testing.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/without_gil.hpp"

#include <utility>
#include <vector>

namespace leat::python {

void bind_runtime(nb::module_& m) {
  nb::class_<trace>(m, "Trace", "A timeline of what loaders do, for https://ui.perfetto.dev.")
      .def(
          "__init__",
          [](trace* to, const path_text& file, std::uint64_t max_bytes) {
            new (to) trace(file, max_bytes);
          },
          "file"_a, "max_bytes"_a = trace::default_max_bytes,
          "Empties the file, or makes it. `max_bytes`: what would exceed this is left out.")
      .def("flush", &trace::flush, nb::call_guard<nb::gil_scoped_release>(),
           "Writes everything that was recorded so far.")
      .def_prop_ro("spans_left_out", &trace::spans_left_out, "Spans that max_bytes left out.");
  nb::class_<runtime>(m, "Runtime", "What loaders run in: their actors, and the threads of these.")
      .def(
          "__init__",
          [](runtime* to, std::size_t control_threads) { new (to) runtime({control_threads}); },
          "control_threads"_a = runtime_options{}.control_threads,
          "`control_threads`: those that deal work and close batches, for all loaders together.")
      .def(
          "shutdown",
          [](const std::shared_ptr<runtime>& x) { end_patiently([x] { x->shutdown(); }); },
          "Ends the runtime for good, and with it all loaders that live.");
  m.def(
      "shutdown", [] { end_patiently(after_all_ends(leat::shutdown)); },
      "Ends the process's own runtime; the next loader begins a new one. Call it before a fork, "
      "so that the child can have loaders of its own.");
  using seconds = std::chrono::milliseconds;
  nb::class_<fault_drill>(m, "FaultDrill", "Failures on purpose, for demonstrations and drills.")
      .def(
          "__init__",
          [](fault_drill* to, const std::vector<std::pair<std::size_t, seconds>>& slow,
             std::vector<std::uint64_t> throw_at,
             const std::vector<std::pair<std::size_t, std::uint64_t>>& deaths) {
            fault_drill made;
            for (const auto& [worker, by] : slow)
              made.slow.push_back({worker, by});
            made.throw_at = std::move(throw_at);
            for (const auto& [worker, position] : deaths)
              made.deaths.push_back({worker, position});
            new (to) fault_drill(std::move(made));
          },
          nb::kw_only(), "slow"_a = std::vector<std::pair<std::size_t, seconds>>{},
          "throw_at"_a = std::vector<std::uint64_t>{},
          "deaths"_a = std::vector<std::pair<std::size_t, std::uint64_t>>{},
          "`slow`: (worker, seconds) for each row; `throw_at`: positions at which a function "
          "throws; `deaths`: (worker, position).");
  m.def("usable_cores", &usable_cores, "Cores that this process may use at a time.");
}

} // namespace leat::python
