#include "actors/caf/fresh_number.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace leat {

namespace {

/// The kernel's table of a process's descriptors grows with the highest number: so this bounds how
/// many there are, and where they begin.
constexpr rlim_t most_numbers = 16384;
constexpr rlim_t first_number = 4096;

} // namespace

int with_fresh_number(int fd) noexcept {
  static std::atomic<unsigned> calls{0};
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return fd;
  // The lower half of a small table is left to others, who may need the lowest.
  const auto begin = std::min(limit.rlim_cur / 2, first_number);
  const auto numbers = std::min(limit.rlim_cur - begin, most_numbers);
  if (numbers == 0)
    return fd;
  const auto least = begin + calls.fetch_add(1, std::memory_order_relaxed) % numbers;
  auto fresh = ::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(least));
  if (fresh < 0) // all from there on are taken
    fresh = ::fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(begin));
  if (fresh < 0)
    return fd;
  ::close(fd);
  return fresh;
}

} // namespace leat
