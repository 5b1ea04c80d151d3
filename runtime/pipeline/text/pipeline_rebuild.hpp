#pragma once

#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>

namespace leat {

/// Makes the pipeline again that a snapshot was taken of: leat's own operators and functions, and
/// those that this program has registered. Paths stay as they were written. Opens no data; sources
/// that exist once have no journal yet. Its root has the options of the facts, so `end` as
/// resolved. Throws one `errc::invalid_argument` that lists all operators that cannot be made, or
/// only with other options.
pipeline rebuild(const pipeline_facts& x);

} // namespace leat
