#include <leat/notice.hpp>
#include <leat/run_log.hpp>

#include "python/module/batch.hpp"
#include "python/module/callables.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/errors.hpp"
#include "python/module/loader.hpp"
#include "python/module/module.hpp"
#include "python/module/without_gil.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace leat::python {

void bind_log(nb::module_& m) {
  nb::class_<run_log>(m, "RunLog",
                      "What a job handed over, one JSON line per batch: what `leat verify` checks.")
      .def(
          "__init__",
          [](run_log* to, const path_text& file, loader_value& of, std::string program,
             bool all_ranks) {
            new (to) run_log(file, of.get(), {std::move(program), all_ranks});
          },
          "file"_a, "of"_a, nb::kw_only(), "program"_a = run_log_options{}.program,
          "all_ranks"_a = false,
          "Begins an attempt where the loader stands: after its restore(), before its first "
          "next().")
      .def(
          "append",
          [](run_log& to, const batch_value& x) {
            const auto held = x; // another thread may release x meanwhile
            const nb::gil_scoped_release released;
            to.append(held.get());
          },
          "batch"_a, "Appends a batch. Call it before the step, and before a snapshot after it.");
  m.def(
      "set_notice_handler",
      [](nb::object handler) {
        if (handler.is_none())
          return set_notice_handler({});
        const nb::handle kept = handler.release(); // as long as the process lives
        set_notice_handler([kept](const std::string& text) {
          const gil_held held{gil_held::keeps::nothing};
          try {
            kept(text);
          } catch (nb::python_error& problem) {
            const std::string why = problem.what();
            if (!problem.matches(PyExc_Exception)) // ctrl-C: code that gives a notice cannot throw
              raise_later(std::move(problem));
            throw std::runtime_error(why);
          }
        });
      },
      "handler"_a.none(),
      nb::sig("def set_notice_handler(handler: collections.abc.Callable[[str], typing.Any] | "
              "None) -> None"),
      "Sets the receiver of notices; by default they go to logging.getLogger(\"leat\").");
  m.def(
      "set_progress_handler",
      [](nb::object handler) {
        if (handler.is_none())
          return set_progress_handler({});
        const nb::handle kept = handler.release(); // as long as the process lives
        set_progress_handler([kept](const progress& now) {
          const gil_held held{gil_held::keeps::nothing};
          try {
            kept(now.what, now.done, now.all);
          } catch (const nb::python_error& problem) {
            throw_through(problem);
          }
        });
      },
      "handler"_a.none(),
      nb::sig("def set_progress_handler(handler: collections.abc.Callable[[str, int, int], "
              "typing.Any] | None) -> None"),
      "Sets the receiver of progress of what may take long, such as opening thousands of shards: "
      "handler(what, done, all), called from any thread. What it raises comes out of the call that "
      "opens the data. By default there is none.");
  m.def("notice", &notice, "text"_a, "Sends a notice.");
}

} // namespace leat::python
