#include "tests/bench/heap_count.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {

thread_local std::uint64_t allocations = 0;

} // namespace

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LEAT_HAS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEAT_HAS_SANITIZER
#endif

#if defined(__GLIBC__) && !defined(LEAT_HAS_SANITIZER)

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
// glibc's own, under the names that it exports for this purpose.
void* __libc_malloc(std::size_t) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;

[[gnu::visibility("default")]] void* malloc(std::size_t size) noexcept {
  ++allocations;
  return __libc_malloc(size);
}

[[gnu::visibility("default")]] void* calloc(std::size_t n, std::size_t size) noexcept {
  ++allocations;
  return __libc_calloc(n, size);
}

[[gnu::visibility("default")]] void* realloc(void* from, std::size_t size) noexcept {
  ++allocations;
  return __libc_realloc(from, size);
}

[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment,
                                                   std::size_t size) noexcept {
  ++allocations;
  return __libc_memalign(alignment, size);
}

[[gnu::visibility("default")]] int posix_memalign(void** to, std::size_t alignment,
                                                  std::size_t size) noexcept {
  ++allocations;
  *to = __libc_memalign(alignment, size);
  return *to == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

bool leat::bench::counts_heap() noexcept {
  return true;
}

#else

bool leat::bench::counts_heap() noexcept {
  return false;
}

#endif

std::uint64_t leat::bench::heap_allocations() noexcept {
  return allocations;
}
