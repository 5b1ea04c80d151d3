#pragma once

#include "runtime/pipeline/operator_type.hpp"

namespace leat {

/// Fields that every good sample of a pipeline has, if that is known without reading one: from
/// leat's own sources with fixed fields, and after leat's own functions. After a function of the
/// program, no field is sure. Throws `errc::invalid_argument` for a `zip` of which two inputs are
/// sure to have a field of the same name.
field_names sure_fields(const operator_node& x);

} // namespace leat
