#pragma once

#include <leat/error.hpp>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace leat {

/// The error to throw when a thread cannot be made; `stage` says what it was for.
inline error no_thread(const std::string& stage, const std::system_error& problem) {
  return {errc::no_resources,
          {.stage = stage,
           .got = std::string{"no more threads ("} + problem.what() + ")",
           .needed = "one more: check the limits on threads and memory of this process, its user "
                     "(ulimit -u) and its container (pids.max)"}};
}

/// Begins a new thread. Throws `errc::no_resources` if the machine gives no more of them.
template <class Function>
std::thread begin_thread(const std::string& stage, Function run) {
  try {
    return std::thread{std::move(run)};
  } catch (const std::system_error& problem) {
    throw no_thread(stage, problem);
  }
}

} // namespace leat
