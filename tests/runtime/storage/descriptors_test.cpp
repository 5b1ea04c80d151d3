#include "runtime/sources/live/once_input.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace leat::descriptors_test {
namespace {

/// The result of a child, in which any descriptor may be closed.
int in_child(const std::function<int()>& run) {
  const auto child = ::fork();
  if (child == 0)
    ::_exit(run());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("descriptors: no file of ours becomes standard input, output or error") {
  CHECK(in_child([] {
          for (const int closed : {0, 1, 2})
            ::close(closed);
          const auto a = file_descriptor::open("/proc/self/exe");
          const file_descriptor b{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
          const file_descriptor c{::dup(a.get())};
          for (const auto* x : {&a, &b, &c})
            if (x->get() <= STDERR_FILENO || (::fcntl(x->get(), F_GETFD) & FD_CLOEXEC) == 0)
              return 1;
          for (const int closed : {0, 1, 2})
            if (::fcntl(closed, F_GETFD) >= 0)
              return 2; // what was moved is closed where it was
          return 0;
        })
        == 0);
}

TEST_CASE("descriptors: standard input that is closed, or not for reading, is an error at once") {
  const auto begin = [] {
    return code_of([] { (void)standard_input_lines()->begin(); }) == errc::io ? 0 : 1;
  };
  CHECK(in_child([&] {
          ::close(STDIN_FILENO);
          return begin();
        })
        == 0);
  CHECK(in_child([&] {
          ::close(STDIN_FILENO);
          (void)::open("/dev/null", O_WRONLY);
          return begin();
        })
        == 0);
}

} // namespace
} // namespace leat::descriptors_test
