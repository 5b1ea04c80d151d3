#pragma once

#include <leat/sample.hpp>

#include "python/module/python.hpp"

#include <string>
#include <utility>

namespace leat::python {

/// Sets a field to a Python value: see Sample.set. Throws Python exceptions, which name the field.
void set_value(sample& x, const std::string& name, nb::handle value);
/// Sets a field whose outermost dimension differs from sample to sample.
void set_ragged(sample& x, const std::string& name, nb::handle values);
/// Sets the fields that a dict names.
void set_fields(sample& x, nb::handle fields);

/// A dict of these entries: dict_with("epoch"_a = 0).
template <class... Entries>
nb::dict dict_with(Entries&&... entries) {
  const nb::handle type{reinterpret_cast<PyObject*>(&PyDict_Type)};
  return nb::borrow<nb::dict>(type(std::forward<Entries>(entries)...));
}

/// The name of an object's type, "ndarray", for texts.
std::string name_of_type(nb::handle x);

} // namespace leat::python
