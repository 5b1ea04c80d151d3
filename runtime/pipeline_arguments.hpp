#pragma once

#include "runtime/pipeline_operators.hpp"
#include "runtime/pipeline_syntax.hpp"
#include "runtime/stage.hpp"
#include "runtime/text_errors.hpp"

#include <optional>

namespace leat {

/// A call as a stage without inputs: all its options, with the values given or preset. Pipelines
/// among a join's arguments are left out. Nothing where an argument does not fit; `errors` gets all
/// that do not.
std::optional<stage> read_arguments(const pipeline_operator& op, const syntax_call& call,
                                    text_errors& errors);

} // namespace leat
