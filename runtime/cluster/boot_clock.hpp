#pragma once

#include <cstdint>

namespace leat {

/// Nanoseconds since this machine began, those included in which it was suspended: a lease runs out
/// meanwhile. Comparable within one machine and time namespace only, and never set back.
std::uint64_t boot_clock_ns();

} // namespace leat
