#pragma once

#include "runtime/base/xxh3.hpp"
#include "runtime/sources/index_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace leat::test {

/// An index in memory, as readers adopt it.
inline index_bytes held(std::vector<std::byte> index) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(index));
  return {{bytes, bytes->data()}, bytes->size()};
}

/// Makes readers look into a forged index file: its magic and subject become those of a right one,
/// and the checksums of its header and sections match their content.
inline void seal_index(std::span<std::byte> index, std::span<const std::byte> right) {
  constexpr std::size_t subject_end = 32;
  constexpr std::size_t table = 40;
  constexpr std::size_t entry = 32;
  constexpr std::size_t entries = 16;
  if (index.size() < table + entries * entry)
    return;
  std::copy_n(right.begin(), subject_end, index.begin());
  for (std::size_t i = 0; i < entries; ++i) {
    const auto at = index.subspan(table + i * entry, entry);
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::memcpy(&begin, at.data() + 8, sizeof begin);
    std::memcpy(&bytes, at.data() + 16, sizeof bytes);
    const auto filled = (bytes + 7) / 8 * 8;
    if (begin > index.size() || filled > index.size() - begin)
      continue;
    const auto sum = xxh3_64(index.subspan(begin, filled));
    std::memcpy(at.data() + 24, &sum, sizeof sum);
  }
  const auto sum = xxh3_64(index.subspan(16, table + entries * entry - 16));
  std::memcpy(index.data() + 8, &sum, sizeof sum);
}

} // namespace leat::test
