#pragma once

namespace leat::test {

// Sanitizers make a run about ten times slower, so long tests then do only a part of their work,
// chosen by the seed. Release builds do all of it.
#if defined(__has_feature) // clang has another test than g++
#if __has_feature(address_sanitizer)
#define LEAT_ADDRESS_SANITIZED
#endif
#endif
#if defined(LEAT_ADDRESS_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// The thread sanitizer checks what threads do, which does not depend on the data: tests that go
// through all places of a job then take only a few of them.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

} // namespace leat::test
