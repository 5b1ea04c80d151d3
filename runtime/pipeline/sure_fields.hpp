#pragma once

#include "runtime/pipeline/operator_type.hpp"

namespace leat {

/// Fields that every good sample of a pipeline has, as far as that is known without reading one: of
/// leat's own sources with fixed fields, and behind leat's own functions. A function of the program
/// leaves none that are sure. Throws `errc::invalid_argument` for a `zip` of which two inputs
/// surely have a field of one name.
field_names sure_fields(const operator_node& x);

} // namespace leat
