#include "tools/leat/standard_descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

namespace leat::command {

void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      // open(2) returns the lowest free descriptor: this one.
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void raise_descriptor_limit() {
  constexpr rlim_t enough = 65'536;
  rlimit x{};
  if (::getrlimit(RLIMIT_NOFILE, &x) != 0 || x.rlim_cur >= std::min(x.rlim_max, enough))
    return;
  x.rlim_cur = std::min(x.rlim_max, enough);
  ::setrlimit(RLIMIT_NOFILE, &x);
}

} // namespace leat::command
