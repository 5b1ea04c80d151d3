#include "runtime/network/links/wake_event.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace leat {

int poll_milliseconds(std::chrono::steady_clock::time_point end,
                      std::chrono::steady_clock::time_point now) noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT32_MAX));
}

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

int wait_for_socket(const file_descriptor& socket, short events, const wake_event* stop,
                    std::chrono::steady_clock::time_point end) {
  std::array<pollfd, 2> all{pollfd{socket.get(), events, 0},
                            pollfd{stop ? stop->descriptor() : -1, POLLIN, 0}};
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    const int n = ::poll(all.data(), all.size(), poll_milliseconds(end, now));
    if (all[1].revents != 0)
      throw_error(errc::interrupted, "link", "the end of what needs the connection", "");
    if (n > 0)
      return 0;
    if (n == 0)
      return ETIMEDOUT;
    if (errno != EINTR)
      return errno;
  }
}

} // namespace leat
