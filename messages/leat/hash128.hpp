#pragma once

#include <leat/export.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// A 128-bit hash, or a sum of such hashes modulo 2^128.
struct LEAT_API hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const hash128&, const hash128&) = default;

  /// Adds modulo 2^128.
  hash128& operator+=(const hash128& x) noexcept {
    low += x.low;
    high += x.high + (low < x.low ? 1 : 0);
    return *this;
  }

  friend hash128 operator+(hash128 a, const hash128& b) noexcept { return a += b; }
};

/// 32 hexadecimal digits, the high half first.
LEAT_API std::string to_string(const hash128& x);

/// Reads what `to_string` wrote; nothing for any other text.
LEAT_API std::optional<hash128> parse_hash128(std::string_view text);

} // namespace leat
