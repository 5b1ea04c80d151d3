#pragma once

#include <cstdint>
#include <span>

namespace leat {

/// General categories of Unicode 16.0.0, in the order in which the table numbers them.
enum class category : std::uint8_t {
  lu,
  ll,
  lt,
  lm,
  lo,
  mn,
  mc,
  me,
  nd,
  nl,
  no,
  pc,
  pd,
  ps,
  pe,
  pi,
  pf,
  po,
  sm,
  sc,
  sk,
  so,
  zs,
  zl,
  zp,
  cc,
  cf,
  cs,
  co,
  cn
};

/// The runs of code points of one category, in order: the first one, times 32, plus its category.
/// They cover all of them; a run ends where the next one begins.
std::span<const std::uint32_t> unicode_runs();

} // namespace leat
