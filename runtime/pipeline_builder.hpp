#pragma once

#include "runtime/pipeline_syntax.hpp"

#include <leat/pipeline.hpp>

#include <cstddef>

namespace leat {

/// Operators of a pipeline from a text, names replaced by what they stand for: names in names
/// grow fast.
inline constexpr std::size_t max_operators = 10'000;
/// Operators on the way from the root to a source.
inline constexpr std::size_t max_height = 1'000;

/// Makes what a text stands for, by the public functions. Throws one `errc::invalid_argument` that
/// lists all errors with their places.
pipeline build_pipeline(const syntax_tree& text);

} // namespace leat
