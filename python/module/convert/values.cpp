#include "python/module/convert/values.hpp"

#include <leat/bad_sample.hpp>

#include "python/module/convert/arrays.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace leat::python {

namespace {

std::span<const std::byte> bytes_in(nb::handle x, Py_buffer& view) {
  if (PyObject_GetBuffer(x.ptr(), &view, PyBUF_SIMPLE) != 0)
    throw nb::python_error();
  return {static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len)};
}

[[noreturn]] void refuse(PyObject* type, const std::string& name, const std::string& got,
                         const std::string& needed) {
  PyErr_SetString(type, ("field " + name + " was set to " + got + "; needed: " + needed).c_str());
  throw nb::python_error();
}

/// A contiguous array of lists, strided arrays, or NumPy scalars.
nb::object as_contiguous(nb::handle x) {
  const auto numpy = nb::module_::import_("numpy");
  return numpy.attr("array")(x, "order"_a = "C");
}

bool is_plain_array(nb::handle x) {
  static PyObject* plain = nullptr; // initialized below, as an import may release the GIL
  if (!plain)
    plain = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  return x.type().ptr() == plain;
}

/// Whether an array hides some of its elements.
bool is_masked(nb::handle x) {
  const nb::object loaded = nb::module_::import_("sys").attr("modules").attr("get")("numpy.ma");
  return !loaded.is_none() && nb::cast<bool>(nb::bool_(loaded.attr("is_masked")(x)));
}

[[noreturn]] void refuse_array(const std::string& name, nb::handle value, nb::handle array) {
  auto got = "a " + name_of_type(value);
  std::string needed = "a number, str, bytes, or an array of numbers";
  if (nb::hasattr(array, "dtype")) {
    const nb::object type = array.attr("dtype");
    got += ", an array of the dtype " + nb::cast<std::string>(nb::str(type));
    if (!nb::cast<bool>(nb::bool_(nb::getattr(type, "isnative", nb::bool_(true)))))
      needed = "this machine's order of bytes: x.astype(x.dtype.newbyteorder(\"=\"))";
  }
  refuse(PyExc_TypeError, name, got, needed);
}

any_array array_of(const std::string& name, nb::handle value) {
  if (!is_plain_array(value) && is_masked(value))
    refuse(PyExc_ValueError, name, "a masked array, whose mask would be lost",
           "x.filled(value), and the mask as a field of its own");
  any_array values;
  if (nb::try_cast(value, values))
    return values;
  const auto array = as_contiguous(value);
  if (!nb::try_cast(array, values))
    refuse_array(name, value, array);
  return values;
}

/// Copies an array into a field.
void set_array(sample& x, const std::string& name, const any_array& values) {
  shape dims;
  if (values.ndim() > shape::max_rank)
    throw bad_sample(cause::wrong_shape, "field " + name + " has " + std::to_string(values.ndim())
                                             + " dimensions; at most "
                                             + std::to_string(shape::max_rank));
  for (std::size_t i = values.ndim(); i-- > 0;)
    dims = dims.behind(values.shape(i));
  auto* to = x.make_tensor(name, dtype_of_array(values), dims);
  if (values.nbytes() > 0)
    std::memcpy(to, values.data(), values.nbytes());
}

std::int64_t number_of(const std::string& name, nb::handle value) {
  int overflow = 0;
  const auto number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0)
    refuse(PyExc_OverflowError, name,
           "an int of " + std::to_string(nb::cast<std::size_t>(value.attr("bit_length")()))
               + " bits, and int64 has 63 and a sign",
           "numpy.uint64(x) below 2^64, a float, or a str");
  if (PyErr_Occurred())
    throw nb::python_error();
  return number;
}

std::string_view text_in(const std::string& name, nb::handle value) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size))
    return {text, static_cast<std::size_t>(size)};
  PyErr_Clear();
  refuse(PyExc_ValueError, name, "a str with a lone surrogate, which UTF-8 does not have",
         "x.encode(errors=\"replace\"), or \"surrogateescape\" for bytes that were decoded so");
}

} // namespace

std::string name_of_type(nb::handle x) {
  return nb::cast<std::string>(x.type().attr("__name__"));
}

void set_value(sample& x, const std::string& name, nb::handle value) {
  if (PyBool_Check(value.ptr())) {
    x.set(name, value.ptr() == Py_True);
  } else if (PyLong_Check(value.ptr())) {
    x.set(name, number_of(name, value));
  } else if (PyFloat_Check(value.ptr())) {
    x.set(name, nb::cast<double>(value));
  } else if (PyUnicode_Check(value.ptr())) {
    x.set(name, text_in(name, value));
  } else if (PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr())) {
    Py_buffer view;
    const auto bytes = bytes_in(value, view);
    try {
      x.set(name, bytes);
    } catch (...) {
      PyBuffer_Release(&view);
      throw;
    }
    PyBuffer_Release(&view);
  } else {
    set_array(x, name, array_of(name, value));
  }
}

void set_ragged(sample& x, const std::string& name, nb::handle given) {
  const auto values = array_of(name, given);
  if (values.ndim() == 0)
    throw bad_sample(cause::wrong_shape, "a ragged field has at least one dimension, got a number");
  shape element;
  for (std::size_t i = values.ndim(); i-- > 1;)
    element = element.behind(values.shape(i));
  auto* to = x.make_ragged(name, dtype_of_array(values), values.shape(0), element);
  if (values.nbytes() > 0)
    std::memcpy(to, values.data(), values.nbytes());
}

void set_fields(sample& x, nb::handle fields) {
  if (!PyDict_Check(fields.ptr()))
    throw bad_sample(cause::function_error,
                     "a function gave a " + name_of_type(fields) + "; needed: a dict of fields");
  for (const auto& [name, value] : nb::borrow<nb::dict>(fields)) {
    std::string field;
    if (!nb::try_cast(name, field))
      throw bad_sample(cause::function_error, "a function gave a dict with a " + name_of_type(name)
                                                  + " for a field's name; needed: a str");
    set_value(x, field, value);
  }
}

} // namespace leat::python
