#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <string>

namespace leat {

/// One call as written in a pipeline's text, without inputs and without options that have their
/// default values: "mix(weights=[3, 1])".
std::string short_call(const operator_node& x);

} // namespace leat
