#pragma once

#include "runtime/snapshot.hpp"

namespace leat {

/// What a snapshot keeps of a pipeline. Opens the data.
pipeline_facts describe(const pipeline& x);

} // namespace leat
