#pragma once

#include <leat/pipeline.hpp>

namespace leat {

/// The map, whose functions call it in child processes. Throws `errc::invalid_argument` for one
/// that no child would know.
map_stage isolated(map_stage x);

} // namespace leat
