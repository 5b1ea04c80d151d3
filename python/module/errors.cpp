#include "python/module/errors.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/bad_sample.hpp>

#include "python/module/convert/arrays.hpp"
#include "python/module/convert/casters.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace leat::python {

namespace {

/// The KeyboardInterrupt or SystemExit that a function of a pipeline raised, until the trainer's
/// thread takes it. Guarded by the GIL.
PyObject* raised_in_a_job = nullptr;

nb::object errors_module() {
  return nb::module_::import_("leat.errors");
}

/// Raises the exception that `make` returns, or the one that is raised meanwhile: making it runs
/// Python code, and with it the handlers of signals.
template <class Make>
void raise(Make make) {
  try {
    const nb::object raised = make();
    PyErr_SetObject(raised.type().ptr(), raised.ptr());
  } catch (nb::python_error& instead) {
    instead.restore();
  }
}

void translate(const std::exception_ptr& problem, void*) {
  try {
    std::rethrow_exception(problem);
  } catch (const error& x) {
    if (x.code() == errc::interrupted) {
      if (auto raised = nb::steal(std::exchange(raised_in_a_job, nullptr)); raised.is_valid()) {
        PyErr_SetObject(raised.type().ptr(), raised.ptr());
        return;
      }
    }
    raise([&] { return exception_of(x); });
  } catch (const bad_sample& x) {
    raise(
        [&] { return errors_module().attr("BadSample")(nb::cast(x.why()), as_message(x.what())); });
  } catch (const nb::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "a function of Python gave a value of a wrong type");
  }
}

bool is_a(nb::handle problem, const char* module, const char* type) {
  return PyErr_GivenExceptionMatches(problem.ptr(), nb::module_::import_(module).attr(type).ptr())
         != 0;
}

/// Whether an OSError reports a lack of resources.
bool is_of_the_machine(nb::handle problem) {
  const auto number = problem.attr("errno");
  return nb::isinstance<nb::int_>(number)
         && leat::is_of_the_machine({nb::cast<int>(number), std::generic_category()});
}

/// The code's name in C++.
std::string name_of(errc code) {
  std::string name{to_string(code)};
  std::replace(name.begin(), name.end(), ' ', '_');
  return code == errc::io ? "io" : name;
}

} // namespace

nb::object exception_of(const error& problem) {
  const auto& x = problem.details();
  nb::object offset = x.offset ? nb::cast(*x.offset) : nb::none();
  nb::list list;
  for (const auto& part : x.list)
    list.append(as_message(part));
  return errors_module().attr("error_of")(name_of(problem.code()), as_message(problem.what()),
                                          as_message(x.stage), as_message(x.sample),
                                          as_message(x.file), offset, as_message(x.got),
                                          as_message(x.needed), list);
}

nb::str as_message(std::string_view text) {
  return decoded(text, "backslashreplace");
}

std::string text_of(const nb::python_error& problem) {
  // There is none if no Python code was reached, for example because of a wrong number of
  // arguments.
  const nb::object trace =
      problem.traceback().is_valid() ? nb::borrow(problem.traceback()) : nb::none();
  try {
    return nb::cast<std::string>(errors_module().attr("one_line")(problem.value(), trace));
  } catch (const std::exception&) {
    return "an exception whose text cannot be made";
  }
}

void throw_through(const nb::python_error& problem) {
  throw_through(nb::borrow(problem.value()), text_of(problem));
}

void throw_through(const nb::object& raised, std::string text) {
  if (!raised_in_a_job)
    raised_in_a_job = nb::borrow(raised).release().ptr();
  throw error(errc::interrupted, {.stage = "loader", .got = std::move(text)});
}

std::string pickled_through() {
  const auto raised = nb::steal(std::exchange(raised_in_a_job, nullptr));
  const nb::bytes found{nb::module_::import_("leat.processes").attr("pickled")(raised)};
  return {found.c_str(), found.size()};
}

void throw_for_job(nb::python_error& problem) {
  const auto raised = problem.value();
  if (is_a(raised, "leat.errors", "BadSample")) {
    const auto why = parse_cause(nb::cast<std::string>(nb::str(raised.attr("cause"))));
    const nb::object text = errors_module().attr("as_utf8")(nb::str(raised));
    throw bad_sample(why.value_or(cause::function_error), nb::cast<std::string>(text));
  }
  auto text = text_of(problem);
  if (is_a(raised, "builtins", "KeyboardInterrupt") || is_a(raised, "builtins", "SystemExit")) {
    throw_through(problem);
  }
  // A lack of resources ends the job: the sample is not at fault, and must not be skipped as bad.
  if (is_a(raised, "builtins", "MemoryError")
      || (is_a(raised, "builtins", "OSError") && is_of_the_machine(raised)))
    throw error(
        errc::no_resources,
        {.got = std::move(text), .needed = "a machine, or limits of the process, that have more"});
  throw bad_sample(cause::function_error, text);
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator(translate);
}

} // namespace leat::python
