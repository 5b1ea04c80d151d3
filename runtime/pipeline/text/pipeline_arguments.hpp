#pragma once

#include "runtime/pipeline/pipeline_operators.hpp"
#include "runtime/pipeline/stage.hpp"
#include "runtime/pipeline/text/pipeline_syntax.hpp"
#include "runtime/pipeline/text/text_errors.hpp"

#include <optional>

namespace leat {

/// A call as a stage without inputs: all its options, with the values given or preset. Pipelines
/// among a join's arguments are left out. Nothing where an argument does not fit; `errors` gets all
/// that do not.
std::optional<stage> read_arguments(const pipeline_operator& op, const syntax_call& call,
                                    text_errors& errors);

} // namespace leat
