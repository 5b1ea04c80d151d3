#pragma once

#include "runtime/base/xxh3.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace leat {

/// The pass of the enclosing repeats and mixes: in pass P of what encloses a repeat of n, its
/// repetition r is pass P n + r. A mix that cycles has 2^32 passes; a pipeline with more than 2^128
/// is refused.
__extension__ using pass_number = unsigned __int128;

/// A pass as one 64-bit integer, as it enters keys, draws and sample keys: itself, or from 2^64 on
/// the low half of XXH3-128 of its 16 bytes.
inline std::uint64_t pass_word(pass_number pass) noexcept {
  const auto low = static_cast<std::uint64_t>(pass);
  const auto high = static_cast<std::uint64_t>(pass >> 64);
  if (high == 0)
    return low;
  const std::array<std::uint64_t, 2> words{low, high};
  return xxh3_128(std::as_bytes(std::span{words})).low;
}

} // namespace leat
