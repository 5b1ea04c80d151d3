#include "runtime/base/fork_check.hpp"

#include <pthread.h>

#include <atomic>

namespace leat {

namespace {

std::atomic<std::uint32_t> forks{0};

void count_fork() {
  forks.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

std::uint32_t fork_generation() noexcept {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, count_fork);
  return forks.load(std::memory_order_relaxed);
}

} // namespace leat
