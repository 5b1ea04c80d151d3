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

/// Leaks an object that stays registered as long as the process lives.
nb::handle for_ever(nb::object x) {
  return x.release();
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
  m.def(
      "register_map",
      [](std::string name, nb::callable make) {
        note_registered("map", name);
        leat::register_map(std::move(name), registered<map_value>(for_ever(std::move(make))));
      },
      "name"_a, "make"_a,
      nb::sig(
          "def register_map(name: str, make: collections.abc.Callable[[str], MapStage]) -> None"),
      "Makes a function known to parse_pipeline: `make(parameters)` returns a MapStage.");
  m.def(
      "register_predicate",
      [](std::string name, nb::callable make) {
        note_registered("filter", name);
        leat::register_predicate(std::move(name),
                                 registered<filter_value>(for_ever(std::move(make))));
      },
      "name"_a, "make"_a,
      nb::sig("def register_predicate(name: str, make: collections.abc.Callable[[str], "
              "FilterStage]) -> None"),
      "As register_map, for a FilterStage.");
  m.def(
      "register_flat_map",
      [](std::string name, nb::callable make) {
        note_registered("flat_map", name);
        leat::register_flat_map(std::move(name),
                                registered<flat_map_value>(for_ever(std::move(make))));
      },
      "name"_a, "make"_a,
      nb::sig("def register_flat_map(name: str, make: collections.abc.Callable[[str], "
              "FlatMapStage]) -> None"),
      "As register_map, for a FlatMapStage.");
  m.def(
      "register_scan",
      [](std::string name, nb::callable make) {
        note_registered("scan", name);
        leat::register_scan(std::move(name), registered<scan_value>(for_ever(std::move(make))));
      },
      "name"_a, "make"_a,
      nb::sig(
          "def register_scan(name: str, make: collections.abc.Callable[[str], ScanStage]) -> None"),
      "As register_map, for a ScanStage.");
}

} // namespace leat::python
