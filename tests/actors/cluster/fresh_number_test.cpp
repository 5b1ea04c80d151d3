#include "actors/caf/fresh_number.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace leat::fresh_number_test {
namespace {

int new_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(fd >= 0);
  return fd;
}

/// Of this process, while it lives.
class descriptor_limit {
public:
  explicit descriptor_limit(rlim_t most) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit less{most, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
  }
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  descriptor_limit(const descriptor_limit&) = delete;
  descriptor_limit& operator=(const descriptor_limit&) = delete;

private:
  rlimit before_{};
};

TEST_CASE("a socket gets a number that none had lately, and keeps what it is") {
  const descriptor_limit usual{1024};
  std::deque<int> lately;
  const int next = new_socket();
  for (int i = 0; i < 3000; ++i) {
    const int fd = new_socket();
    CHECK(fd == next + 1); // the one before was closed
    const int fresh = with_fresh_number(fd);
    REQUIRE(std::find(lately.begin(), lately.end(), fresh) == lately.end());
    REQUIRE(::fcntl(fd, F_GETFD) == -1);
    REQUIRE(::fcntl(fresh, F_GETFD) == FD_CLOEXEC);
    int type = 0;
    socklen_t size = sizeof type;
    REQUIRE(::getsockopt(fresh, SOL_SOCKET, SO_TYPE, &type, &size) == 0);
    REQUIRE(::close(fresh) == 0);
    lately.push_back(fresh);
    if (lately.size() > 400)
      lately.pop_front();
  }
  ::close(next);
}

TEST_CASE("numbers may run out, or be taken") {
  std::vector<int> held;
  std::vector<int> flags;
  { // without a check in it: sanitizers need a descriptor for some of theirs
    const descriptor_limit few{40};
    for (int fd = 0; (fd = ::socket(AF_UNIX, SOCK_STREAM, 0)) >= 0;)
      held.push_back(with_fresh_number(fd));
    for (const int fd : held) {
      flags.push_back(::fcntl(fd, F_GETFD));
      ::close(fd);
    }
  }
  CHECK(held.size() > 30); // also the lowest numbers
  CHECK(std::all_of(flags.begin(), flags.end(), [](int x) { return x >= 0; }));
  std::sort(held.begin(), held.end());
  CHECK(std::adjacent_find(held.begin(), held.end()) == held.end());
}

} // namespace
} // namespace leat::fresh_number_test
