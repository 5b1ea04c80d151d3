#pragma once

#include <compare>
#include <cstdint>

namespace leat {

/// A process of a cluster in one of its lives. An incarnation may hold a seat.
struct incarnation {
  /// 128 random bits, drawn when the process joins.
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  /// How often the process has let go of its seat; each time it begins a new life.
  std::uint64_t let_go = 0;

  bool is_same_process(const incarnation& x) const noexcept {
    return high == x.high && low == x.low;
  }
  friend bool operator==(const incarnation&, const incarnation&) = default;
  friend auto operator<=>(const incarnation&, const incarnation&) = default; // NOLINT: no pointer
};

} // namespace leat
