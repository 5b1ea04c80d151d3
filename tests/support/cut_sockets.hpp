#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace leat::test {

/// Shuts down the connected sockets of a child process, as if somebody had cut its cables: those of
/// connections that no `network_link` can be put into, because addresses are agreed on by the
/// processes. Returns how many there were; 0 also where the system does not allow it.
inline std::size_t cut_sockets_of(pid_t process) {
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (handle < 0)
    return 0;
  std::size_t cut = 0;
  std::error_code problem;
  const auto files = "/proc/" + std::to_string(process) + "/fd";
  for (auto x = std::filesystem::directory_iterator{files, problem};
       !problem && x != std::filesystem::directory_iterator{}; x.increment(problem)) {
    std::error_code gone; // it may be closed meanwhile
    if (!std::filesystem::read_symlink(x->path(), gone).native().starts_with("socket:"))
      continue;
    const auto number = std::atoi(x->path().filename().c_str());
    const auto copy = static_cast<int>(::syscall(SYS_pidfd_getfd, handle, number, 0));
    if (copy < 0)
      continue;
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(copy, reinterpret_cast<sockaddr*>(&peer), &size) == 0
        && peer.ss_family == AF_INET && ::shutdown(copy, SHUT_RDWR) == 0)
      ++cut;
    ::close(copy);
  }
  ::close(handle);
  return cut;
}

} // namespace leat::test
