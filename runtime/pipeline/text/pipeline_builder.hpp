#pragma once

#include "runtime/pipeline/text/pipeline_syntax.hpp"

#include <leat/pipeline.hpp>

namespace leat {

/// Makes the pipeline that a text describes, by calling the public functions. Throws one
/// `errc::invalid_argument` that lists all errors with their places.
pipeline build_pipeline(const syntax_tree& text);

} // namespace leat
