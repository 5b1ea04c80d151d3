#pragma once

#include "python/module/python.hpp"

namespace leat::python {

/// `_explain_wrong_calls(explain)`: from then on a call whose arguments fit none of a function's
/// signatures raises a TypeError with the text of `explain(name, signatures, is_method, args,
/// kwargs)`, in place of nanobind's, which has all signatures in C++'s order and no value.
void bind_wrong_calls(nb::module_& m);

} // namespace leat::python
