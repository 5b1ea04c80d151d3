#pragma once

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/text/pipeline_syntax.hpp"
#include "runtime/pipeline/text/text_errors.hpp"

#include <optional>

namespace leat {

/// A call as an operator node without inputs: all its options, with the values given or their
/// defaults. Pipelines among a join's arguments are left out. Nothing if an argument does not fit;
/// `errors` gets all that do not.
std::optional<operator_node> read_arguments(const operator_type& op, const syntax_call& call,
                                            text_errors& errors);

} // namespace leat
