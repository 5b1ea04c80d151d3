#include "runtime/storage/guarded_copy.hpp"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace leat {

namespace {

/// A copy in progress in this thread: where to jump on a fault, and the addresses that may fault.
struct guard {
  sigjmp_buf back;
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// The signal handler reads this in any thread. With the default TLS model of a shared library, a
/// thread's first access may allocate memory, which a signal handler must not.
[[gnu::tls_model("initial-exec")]] thread_local constinit guard* active_guard = nullptr;

/// The previous handler of SIGBUS. Written once, before ours is installed.
struct sigaction handler_before {};

/// Passes the signal to the previous handler, or restores the default action and lets the signal
/// come again.
void pass_on(int number, siginfo_t* info, void* context) {
  if ((handler_before.sa_flags & SA_SIGINFO) != 0 && handler_before.sa_sigaction)
    return handler_before.sa_sigaction(number, info, context);
  if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
    return handler_before.sa_handler(number);
  // A faulting instruction is repeated on return; a signal that a process sent has to be sent
  // again.
  ::sigaction(SIGBUS, &handler_before, nullptr);
  if (info->si_code <= 0)
    ::raise(number);
}

void handle_bus_error(int number, siginfo_t* info, void* context) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  auto* const x = active_guard;
  if (x && info->si_code > 0 && at >= x->begin && at < x->end) {
    active_guard = nullptr;
    ::siglongjmp(x->back, 1);
  }
  pass_on(number, info, context);
}

bool install_handler() noexcept {
  if (::sigaction(SIGBUS, nullptr, &handler_before) != 0)
    return false;
  struct sigaction ours {};
  ours.sa_sigaction = handle_bus_error;
  // The handler is left by a jump, so the mask must not change (SA_NODEFER). The program may have
  // an alternate signal stack.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  return ::sigaction(SIGBUS, &ours, nullptr) == 0;
}

bool is_handler_installed() noexcept {
  static const bool done = install_handler();
  return done;
}

/// Copies to.size() bytes, like memcpy, and meanwhile prefetches `next`, which is not read and may
/// be gone: a core waits for the first bytes of a record about as long as it takes to copy some
/// kilobytes.
void copy_and_fetch(std::span<std::byte> to, const std::byte* from,
                    std::span<const std::byte> next) noexcept {
  // Copied line by line with instructions that do not wait for earlier ones, unlike those that
  // memcpy uses for some kilobytes.
  constexpr std::size_t line = 64;
  // More would evict what the first-level cache holds.
  constexpr std::size_t most_fetched = std::size_t{16} << 10;
  const auto fetched = std::min(next.size(), most_fetched);
  const auto end = std::min(fetched, to.size() / line * line);
  std::size_t at = 0;
  for (; at < end; at += line) {
    __builtin_prefetch(next.data() + at);
    std::memcpy(to.data() + at, from + at, line);
  }
  if (at < to.size())
    std::memcpy(to.data() + at, from + at, to.size() - at);
  for (; at < fetched; at += line)
    __builtin_prefetch(next.data() + at);
}

/// How many bytes at the beginning of a mapping can be told from those of a file that was cut
/// short: all but those of the last page. If a file ends in the middle of a page, zeros fill the
/// page, and only the pages after it are gone. So each read, once done, also touches the last page
/// of the mapping, and none of its bytes are ever used. That page is the same for all reads, and so
/// is mostly in a cache. A file that is being cut short at this moment loses its pages before the
/// zeros are written, at least in Linux's page cache; a file system may write zeros of its own a
/// moment earlier.
std::size_t safe_size(std::span<const std::byte> mapping) noexcept {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return mapping.empty() ? 0 : (mapping.size() - 1) / page * page;
}

} // namespace

bool guarded_copy(std::span<const std::byte> mapping, std::uint64_t offset,
                  std::span<std::byte> into, std::span<const std::byte> next) noexcept {
  if (offset > mapping.size() || mapping.size() - offset < into.size()
      || offset + into.size() > safe_size(mapping) || !is_handler_installed())
    return false;
  const volatile auto* const beyond = mapping.data() + safe_size(mapping);
  guard x;
  x.begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  x.end = x.begin + mapping.size();
  if (sigsetjmp(x.back, 0) != 0)
    return false;
  active_guard = &x;
  // The compiler must move no access to the mapping before the assignment of `active_guard`, or
  // after its reset.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy_and_fetch(into, mapping.data() + offset, next);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  static_cast<void>(*beyond);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  active_guard = nullptr;
  return true;
}

bool copies_are_guarded() noexcept {
  struct sigaction now {};
  return is_handler_installed() && ::sigaction(SIGBUS, nullptr, &now) == 0
         && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle_bus_error;
}

} // namespace leat
