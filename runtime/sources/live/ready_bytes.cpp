#include "runtime/sources/live/ready_bytes.hpp"

#include "runtime/base/system_words.hpp"

#include <leat/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace leat {

namespace {

[[noreturn]] void throw_io(const char* action) {
  throw error(errc::io, {.stage = action, .got = system_words(errno)});
}

/// Repeats an interrupted call. Empty if there is nothing yet.
template <class Call>
std::optional<std::size_t> ready(const char* action, Call call) {
  ssize_t n = -1;
  do
    n = call();
  while (n < 0 && errno == EINTR);
  if (n >= 0)
    return static_cast<std::size_t>(n);
  if (errno != EAGAIN)
    throw_io(action);
  return std::nullopt;
}

bool is_pipe(int descriptor) {
  struct stat x {};
  return ::fstat(descriptor, &x) == 0 && S_ISFIFO(x.st_mode);
}

std::optional<std::size_t> copy_ready(int from, int file, std::uint64_t offset, std::size_t most) {
  std::array<std::byte, 1 << 16> buffer;
  const auto n = read_ready(from, std::span{buffer}.first(std::min(most, buffer.size())));
  if (n)
    write_at(file, offset, std::span{buffer}.first(*n));
  return n;
}

} // namespace

std::optional<std::size_t> read_ready(int from, std::span<std::byte> into) {
  return ready("read", [&] { return ::read(from, into.data(), into.size()); });
}

std::optional<std::size_t> move_ready(int from, int file, std::uint64_t offset, std::size_t most) {
  if (!is_pipe(from))
    return copy_ready(from, file, offset, most);
  bool refused = false;
  const auto n = ready("journal", [&] {
    auto at = static_cast<off64_t>(offset);
    const auto moved = ::splice(from, nullptr, file, &at, most, SPLICE_F_NONBLOCK);
    refused = moved < 0 && errno == EINVAL;
    return refused ? 0 : moved;
  });
  return refused ? copy_ready(from, file, offset, most) : n;
}

void write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    } else if (n == 0 || errno != EINTR) {
      throw_io("journal");
    }
  }
}

} // namespace leat
