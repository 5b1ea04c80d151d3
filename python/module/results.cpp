#include "python/module/results.hpp"

#include <leat/bad_sample.hpp>

#include "python/module/convert/values.hpp"

#include <string>

namespace leat::python {

namespace {

[[noreturn]] void refuse(nb::handle result, const std::string& needed) {
  throw bad_sample(cause::function_error,
                   "the function returned "
                       + (result.is_none() ? "None" : "a " + name_of_type(result))
                       + "; needed: " + needed);
}

/// Objects whose code has not run yet: they are always true, whatever they would return.
bool is_not_run(nb::handle result) {
  const auto name = name_of_type(result);
  return name == "generator" || name == "coroutine" || name == "async_generator";
}

} // namespace

void take_result(sample& x, nb::handle lent, nb::handle result) {
  if (result.is_none() || result.is(lent))
    return;
  if (!PyDict_Check(result.ptr()))
    refuse(result, "None or the sample, which it has changed, or a dict of fields to set");
  set_fields(x, result);
}

std::size_t num_results(nb::handle lent, nb::handle result) {
  if (result.is_none() || result.is(lent))
    return 0;
  const auto n = nb::len(lent);
  if (!PyList_Check(result.ptr()) || nb::len(result) != n)
    refuse(result, "None, or a list with a result for each of the " + std::to_string(n)
                       + " samples that it was given");
  return n;
}

bool is_true(nb::handle result) {
  const int is = PyObject_IsTrue(result.ptr());
  if (is < 0)
    throw nb::python_error();
  return is == 1;
}

bool is_kept(nb::handle result) {
  if (PyBool_Check(result.ptr()))
    return result.ptr() == Py_True;
  const bool is_number = PyNumber_Check(result.ptr()) != 0; // quicker than the name of a type
  if (!is_number && (result.is_none() || is_not_run(result)))
    refuse(result, "True for samples to keep, False for others");
  return is_true(result);
}

std::uint64_t count_in(nb::handle result) {
  std::uint64_t count = 0;
  if (!nb::try_cast(result, count))
    refuse(result, "a number of children: 0 or more");
  return count;
}

std::string bytes_from(nb::handle result) {
  std::string text;
  if (PyUnicode_Check(result.ptr()) && nb::try_cast(result, text))
    return text;
  if (!PyBytes_Check(result.ptr()))
    refuse(result, "bytes, or a str that UTF-8 can hold");
  const auto bytes = nb::borrow<nb::bytes>(result);
  return {bytes.c_str(), bytes.size()};
}

} // namespace leat::python
