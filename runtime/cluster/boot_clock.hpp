#pragma once

#include <cstdint>

namespace leat {

/// Nanoseconds since this machine started, including the time in which it was suspended, since
/// leases run out meanwhile. Comparable within one machine and time namespace only, and never set
/// back.
std::uint64_t boot_clock_ns();

/// A number that changes with every tick of the system's clock, some hundred times a second, and at
/// once when the machine has been suspended. While it stays the same, boot_clock_ns() grows by
/// about one tick at most. It is read several times faster.
std::uint64_t clock_tick() noexcept;

} // namespace leat
