#pragma once

#include <cstdint>
#include <cstdlib>

namespace leat::test {

/// Long tests go through many seeds. Where LEAT_CI_SEED is set, as in CI, it draws a third of them,
/// and the same third again for the same number; elsewhere all are drawn.
inline bool is_drawn(std::uint64_t seed) {
  const char* text = std::getenv("LEAT_CI_SEED"); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr || seed % 3 == std::strtoull(text, nullptr, 10) % 3;
}

} // namespace leat::test
