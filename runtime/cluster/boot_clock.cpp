#include "runtime/cluster/boot_clock.hpp"

#include "runtime/storage/file_descriptor.hpp"

#include <ctime>

namespace leat {

std::uint64_t boot_clock_ns() {
  ::timespec now{};
  if (::clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    throw_errno("cluster", "CLOCK_BOOTTIME", "a clock that counts suspended time");
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t clock_tick() noexcept {
  // Unlike the monotonic clock, the time of day is set forward before any thread runs again.
  ::timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME_COARSE, &now); // fails only for clocks that do not exist
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace leat
