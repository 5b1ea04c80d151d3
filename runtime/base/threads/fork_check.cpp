#include "runtime/base/threads/fork_check.hpp"

#include <pthread.h>

#include <atomic>

namespace leat {

namespace {

std::atomic<std::uint32_t> forks{0};
std::atomic<std::uint64_t> hazards{0};
std::atomic<bool> is_maimed{false};

void begin_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  if (hazards.load() > 0)
    is_maimed.store(true);
}

void look_for_forks() noexcept {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, begin_child);
}

} // namespace

std::uint32_t fork_generation() noexcept {
  look_for_forks();
  return forks.load(std::memory_order_relaxed);
}

fork_hazard::fork_hazard() noexcept {
  look_for_forks();
  hazards.fetch_add(1);
}

fork_hazard::~fork_hazard() {
  hazards.fetch_sub(1);
}

bool is_maimed_by_fork() noexcept {
  return is_maimed.load();
}

} // namespace leat
