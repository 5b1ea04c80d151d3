#pragma once

#include <leat/remote_options.hpp>

#include "python/module/python.hpp"

namespace leat::python {

/// How servers are asked, as programs say it: a dict, or None.
struct remote_argument {
  nb::object from;

  /// Throws `errc::invalid_argument` for a name that is no option, and for a value of a wrong type;
  /// the error shows no value.
  remote_options options() const;
};

} // namespace leat::python

namespace nanobind::detail {

template <>
struct type_caster<leat::python::remote_argument> {
  NB_TYPE_CASTER(leat::python::remote_argument,
                 const_name("collections.abc.Mapping[str, typing.Any] | None"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    value.from = borrow(from);
    return from.is_none() || PyDict_Check(from.ptr())
           || (PyMapping_Check(from.ptr()) && hasattr(from, "items"));
  }
};

} // namespace nanobind::detail
