#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <leat/pipeline_facts.hpp>

#include <cstdint>

namespace leat {

pipeline_facts describe(const pipeline& x, std::uint64_t lanes);

/// The root of a pipeline. False for an operator that leat does not know.
bool is_batch(const operator_facts& x);

/// Facts of a pipeline that ends in a batch, with L as resolved. Opens the data, once the tree is
/// known to be within the limits. Throws `errc::invalid_argument` without a batch and above the
/// limits.
} // namespace leat
