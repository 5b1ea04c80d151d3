#pragma once

#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <cstdint>

namespace leat {

/// Opens the data. `root` is an operator below the batch; `lanes` is L. Throws everything that is
/// wrong, one line each: data that cannot be opened, and what cannot be planned
/// (`errc::invalid_argument`). The code is that of the first error.
sample_graph plan_samples(const operator_node& root, std::uint64_t lanes);

} // namespace leat
