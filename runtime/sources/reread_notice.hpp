#pragma once

#include "runtime/sources/stream_opener.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

/// Says in a notice how much of a file must be decompressed again to resume at `offset`, if
/// anything.
void notice_reread(const stream_opener& opener, std::size_t file, std::uint64_t offset,
                   restart_point from);

} // namespace leat
