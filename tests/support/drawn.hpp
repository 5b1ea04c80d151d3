#pragma once

#include <cstdint>
#include <cstdlib>

namespace leat::test {

/// Long tests go through many seeds. If LEAT_CI_SEED is set, as in CI, it selects a third of them,
/// the same third for the same value; otherwise all are run.
inline bool is_drawn(std::uint64_t seed) {
  const char* text = std::getenv("LEAT_CI_SEED"); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr || seed % 3 == std::strtoull(text, nullptr, 10) % 3;
}

} // namespace leat::test
