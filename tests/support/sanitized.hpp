#pragma once

namespace leat::test {

// Sanitizers make a run about ten times slower: long tests then do a part of their work, chosen by
// the seed. Release builds do all of it.
#if defined(__has_feature) // clang says it in another way than g++
#if __has_feature(address_sanitizer)
#define LEAT_ADDRESS_SANITIZED
#endif
#endif
#if defined(LEAT_ADDRESS_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// The thread sanitizer looks at what threads do, which does not depend on the data: tests that go
// through all places of a job then take a few of them.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

} // namespace leat::test
