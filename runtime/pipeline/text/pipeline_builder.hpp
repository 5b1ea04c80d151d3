#pragma once

#include "runtime/pipeline/text/pipeline_syntax.hpp"

#include <leat/pipeline.hpp>

namespace leat {

/// Makes what a text stands for, by the public functions. Throws one `errc::invalid_argument` that
/// lists all errors with their places.
pipeline build_pipeline(const syntax_tree& text);

} // namespace leat
