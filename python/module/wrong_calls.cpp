#include "python/module/convert/values.hpp"
#include "python/module/module.hpp"

#include <string>
#include <utility>

namespace leat::python {

namespace {

/// A default argument that nobody gives. It is accepted only in nanobind's pass with implicit
/// conversions, so that its overload matches after all others have been tried in both passes.
struct last_of_all {};

} // namespace

} // namespace leat::python

namespace nanobind::detail {

template <>
struct type_caster<leat::python::last_of_all> {
  NB_TYPE_CASTER(leat::python::last_of_all, const_name("None"))

  bool from_python(handle, std::uint32_t flags, cleanup_list*) noexcept {
    return (flags & cast_flags::convert) != 0;
  }
  static handle from_cpp(leat::python::last_of_all, rv_policy, cleanup_list*) noexcept {
    return none().release();
  }
};

} // namespace nanobind::detail

namespace leat::python {

namespace {

/// A function with its signatures, and its name in errors.
struct explained {
  nb::handle explain;
  nb::handle signatures; // never released, like the function
  std::string shown;
  bool is_method = false;

  [[noreturn]] void raise(const nb::args& args, const nb::kwargs& kwargs) const {
    const nb::object text = explain(shown, signatures, is_method, args, kwargs);
    PyErr_SetObject(PyExc_TypeError, text.ptr());
    throw nb::python_error();
  }
};

/// The docstring of the added signature: for a function with a single signature the same one, so
/// that help() shows it unchanged.
std::string documentation_of(nb::handle signatures) {
  if (nb::len(signatures) > 1)
    return "For all other arguments: says which do not fit.";
  const nb::object doc = signatures[0][1];
  return doc.is_none() ? std::string{} : nb::cast<std::string>(doc);
}

/// Adds a last signature that accepts every call and raises.
void add_last(nb::handle scope, const std::string& name, nb::handle member, explained what) {
  nb::object signatures = member.attr("__nb_signature__");
  const auto doc = documentation_of(signatures);
  const auto sig = "def " + name + "(" + (what.is_method ? "self, " : "")
                   + "*args, **kwargs) -> typing.NoReturn";
  what.signatures = signatures.release();
  if (what.is_method)
    nb::cpp_function_def([what](nb::handle, const nb::args& args, last_of_all,
                                const nb::kwargs& kwargs) { what.raise(args, kwargs); },
                         nb::scope(scope), nb::name(name.c_str()), nb::is_method(), "args"_a,
                         "_"_a = false, "kwargs"_a, nb::sig(sig.c_str()), doc.c_str());
  else
    nb::cpp_function_def([what](const nb::args& args, last_of_all,
                                const nb::kwargs& kwargs) { what.raise(args, kwargs); },
                         nb::scope(scope), nb::name(name.c_str()), "args"_a, "_"_a = false,
                         "kwargs"_a, nb::sig(sig.c_str()), doc.c_str());
}

bool is_explained(const std::string& name) {
  return name.front() != '_' || name == "__init__";
}

void explain_members(nb::handle explain, nb::handle type) {
  const auto owner = nb::cast<std::string>(type.attr("__name__"));
  for (const nb::handle x : nb::list(type.attr("__dict__").attr("items")())) {
    const auto name = nb::cast<std::string>(x[0]);
    const nb::object member = x[1];
    if (!is_explained(name))
      continue;
    const auto kind = name_of_type(member);
    if (kind == "nb_method" || kind == "nb_func")
      add_last(type, name, member,
               {explain, {}, name == "__init__" ? owner : owner + "." + name, kind == "nb_method"});
  }
}

void explain_wrong_calls(nb::handle m, nb::object function) {
  const auto explain = function.release(); // as long as the process lives
  for (const nb::handle x : nb::list(m.attr("__dict__").attr("items")())) {
    const auto name = nb::cast<std::string>(x[0]);
    const nb::object member = x[1];
    if (!is_explained(name))
      continue;
    if (nb::isinstance<nb::type_object>(member))
      explain_members(explain, member);
    else if (name_of_type(member) == "nb_func")
      add_last(m, name, member, {explain, {}, name});
  }
}

} // namespace

void bind_wrong_calls(nb::module_& m) {
  m.def(
      "_explain_wrong_calls",
      [module = nb::handle{m}](nb::object explain) {
        explain_wrong_calls(module, std::move(explain));
      },
      "explain"_a);
}

} // namespace leat::python
