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

/// A copy that is under way in this thread.
struct guard {
  sigjmp_buf back;
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// Lies where a signal can look at it in any thread: with the usual model of a shared library, the
/// first look of a thread may allocate memory.
[[gnu::tls_model("initial-exec")]] thread_local constinit guard* active_guard = nullptr;

/// What handled SIGBUS before. Written once, before the handler is installed.
struct sigaction handler_before {};

/// Lets the signal come again, to whoever handled it before.
void pass_on(int number, siginfo_t* info, void* context) {
  if ((handler_before.sa_flags & SA_SIGINFO) != 0 && handler_before.sa_sigaction)
    return handler_before.sa_sigaction(number, info, context);
  if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
    return handler_before.sa_handler(number);
  // The instruction is repeated, or the signal was sent and is sent again.
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
  // The handler is left by a jump: no mask to restore. A program may have a stack of its own for
  // signals.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  ::sigemptyset(&ours.sa_mask);
  return ::sigaction(SIGBUS, &ours, nullptr) == 0;
}

bool is_handler_installed() noexcept {
  static const bool done = install_handler();
  return done;
}

/// Copies as many bytes as `to` has, like memcpy, and meanwhile asks for those that are copied
/// next, which are not read and may be anything: a core waits for the first bytes of a record about
/// as long as it takes to copy some kilobytes.
void copy_and_fetch(std::span<std::byte> to, const std::byte* from,
                    std::span<const std::byte> next) noexcept {
  // Moved by instructions that do not wait for what comes before them, unlike those that memcpy
  // uses for some kilobytes.
  constexpr std::size_t line = 64;
  // More would push out of the first-level cache what it holds.
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
/// short. Where a file ends in the middle of a page, zeros fill it up, and only the pages after it
/// are gone: so the last one is touched, too, once others have been read, and none of its bytes
/// are. It is the same for all reads, so it is near. A file that is being cut short at this moment
/// loses its pages before the zeros come, at least in Linux's page cache; a file system may write
/// zeros of its own a moment earlier.
std::size_t safe_size(std::span<const std::byte> mapping) noexcept {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return mapping.empty() ? 0 : (mapping.size() - 1) / page * page;
}

/// Reads bytes of a mapping. False if they are not all there.
template <class Read>
bool guarded(std::span<const std::byte> mapping, Read read) noexcept {
  const volatile auto* const beyond = mapping.data() + safe_size(mapping);
  guard x;
  x.begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  x.end = x.begin + mapping.size();
  if (sigsetjmp(x.back, 0) != 0)
    return false;
  active_guard = &x;
  // Nothing that is touched is touched before `active_guard` is set, or after it is reset.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  read();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  static_cast<void>(*beyond);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  active_guard = nullptr;
  return true;
}

struct search {
  const std::byte* begin;
  const std::byte* at;
  const std::byte* end;
  /// Behind the last byte that may be touched.
  const std::byte* safe_end;
  std::span<std::uint64_t> places;
  std::span<std::byte> following;
  std::size_t found = 0;
};

/// Goes on behind the last place that there is room for, or to the end.
void find_all(search& x, std::byte what) noexcept {
  while (x.at < x.end && x.found < x.places.size()) {
    const auto* const here = static_cast<const std::byte*>(
        std::memchr(x.at, static_cast<int>(what), static_cast<std::size_t>(x.end - x.at)));
    if (!here) {
      x.at = x.end;
      return;
    }
    x.at = here + 1;
    if (!x.following.empty())
      x.following[x.found] = x.at < x.safe_end ? *x.at : what;
    x.places[x.found++] = static_cast<std::uint64_t>(here - x.begin);
  }
}

} // namespace

bool guarded_copy(std::span<const std::byte> mapping, std::uint64_t offset,
                  std::span<std::byte> into, std::span<const std::byte> next) noexcept {
  if (offset > mapping.size() || mapping.size() - offset < into.size()
      || offset + into.size() > safe_size(mapping) || !is_handler_installed())
    return false;
  return guarded(mapping, [&] { copy_and_fetch(into, mapping.data() + offset, next); });
}

std::optional<std::uint64_t> guarded_find(std::span<const std::byte> mapping, std::uint64_t offset,
                                          std::uint64_t end, std::byte what,
                                          std::span<std::uint64_t> places,
                                          std::span<std::byte> following,
                                          std::size_t& found) noexcept {
  found = 0;
  const auto* const bytes = mapping.data();
  const auto safe = safe_size(mapping);
  const auto last = std::min(end, safe);
  if (offset >= last || places.empty() || !is_handler_installed())
    return std::nullopt;
  search x{.begin = bytes,
           .at = bytes + offset,
           .end = bytes + last,
           .safe_end = bytes + safe,
           .places = places,
           .following = following};
  if (!guarded(mapping, [&] { find_all(x, what); }))
    return std::nullopt;
  found = x.found;
  return static_cast<std::uint64_t>(x.at - bytes);
}

bool copies_are_guarded() noexcept {
  struct sigaction now {};
  return is_handler_installed() && ::sigaction(SIGBUS, nullptr, &now) == 0
         && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle_bus_error;
}

} // namespace leat
