#pragma once

#include <cerrno>

namespace leat {

/// Repeats a system call as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR)
      return result;
}

} // namespace leat
