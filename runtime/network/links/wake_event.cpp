#include "runtime/network/links/wake_event.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace leat {

wake_event::wake_event() : event_(opened([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); })) {
  if (!event_)
    throw_errno("link", {}, "an event");
}

void wake_event::set() const noexcept {
  const std::uint64_t one = 1;
  // Fails only if it is set already.
  (void)!::write(event_.get(), &one, sizeof one);
}

void wake_event::clear() const noexcept {
  std::uint64_t times = 0;
  // Fails only if it is not set.
  (void)!::read(event_.get(), &times, sizeof times);
}

} // namespace leat
