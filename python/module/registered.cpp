#include "python/module/callables.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

#include <string>
#include <utility>

namespace leat::python {

namespace {

thread_local parsing_keeps* innermost = nullptr;

/// Wraps a Python factory for a name in pipeline texts. What it returns is kept while the pipeline
/// lives.
template <class Value>
auto registered(nb::handle make) {
  return [make](const std::string& parameters) {
    const gil_held held;
    try {
      nb::object made = make(parameters);
      if (!nb::isinstance<Value>(made))
        throw nb::type_error(("the registered function gave a " + name_of_type(made)
                              + "; needed: a "
                              + nb::cast<std::string>(nb::type<Value>().attr("__name__")))
                                 .c_str());
      auto stage = nb::cast<Value&>(made).value;
      parsing_keeps::add(std::move(made));
      return stage;
    } catch (nb::python_error& problem) {
      throw error(errc::invalid_argument, {.stage = "parse_pipeline", .got = text_of(problem)});
    } catch (const nb::builtin_exception& problem) {
      throw error(errc::invalid_argument, {.stage = "parse_pipeline", .got = problem.what()});
    }
  };
}

/// Binds a function that makes `make(parameters)` known to parse_pipeline.
template <class Value, class Register>
void bind_maker(nb::module_& m, const char* function, const char* kind, Register add,
                const std::string& stage, const char* about) {
  const auto sig = std::string{"def "} + function
                   + "(name: str, make: collections.abc.Callable[[str], " + stage + "]) -> None";
  m.def(
      function,
      [kind, add](std::string name, nb::callable make) {
        note_registered(kind, name);
        add(std::move(name), registered<Value>(make.release())); // as long as the process lives
      },
      "name"_a, "make"_a, nb::sig(sig.c_str()), about);
}

} // namespace

parsing_keeps::parsing_keeps() : outer_(std::exchange(innermost, this)) {}

parsing_keeps::~parsing_keeps() {
  innermost = outer_;
}

void parsing_keeps::add(nb::object x) {
  if (innermost)
    innermost->kept_.add(std::move(x));
  else
    x.release();
}

void note_registered(const char* kind, const std::string& name) {
  nb::module_::import_("leat._pickling").attr("registered").attr("add")(nb::make_tuple(kind, name));
}

void bind_registered(nb::module_& m) {
  bind_maker<map_value>(m, "register_map", "map", leat::register_map, "MapStage",
                        "Makes a function known to parse_pipeline: `make(parameters)` returns a "
                        "MapStage.");
  bind_maker<filter_value>(m, "register_predicate", "filter", leat::register_predicate,
                           "FilterStage", "As register_map, for a FilterStage.");
  bind_maker<flat_map_value>(m, "register_flat_map", "flat_map", leat::register_flat_map,
                             "FlatMapStage", "As register_map, for a FlatMapStage.");
  bind_maker<scan_value>(m, "register_scan", "scan", leat::register_scan, "ScanStage",
                         "As register_map, for a ScanStage.");
}

} // namespace leat::python
