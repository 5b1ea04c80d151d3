#pragma once

#include "python/module/python.hpp"

namespace leat::python {

/// Binds `_explain_wrong_calls(explain)`: after that, a call whose arguments fit none of a
/// function's signatures raises a TypeError with the text of `explain(name, signatures, is_method,
/// args, kwargs)`, and not that of nanobind, which lists all signatures but no value.
void bind_wrong_calls(nb::module_& m);

} // namespace leat::python
