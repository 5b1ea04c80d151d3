#pragma once

#include "tests/support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace leat::test {

/// How a child process ends, as waitpid(2) says it, that exits with the result of a function. It
/// may change its limits, and close any descriptor.
template <class Work>
int status_of_child(Work work) {
  const auto child = ::fork();
  if (child == 0)
    ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

} // namespace leat::test
