#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"

#include <leat/order.hpp>

#include "tools/leat/verify/audit.hpp"

namespace leat::command {

// Lines of a job of two epochs.
inline constexpr std::uint64_t batch_rows = 12;
inline constexpr std::uint64_t steps = 7;
inline constexpr std::uint64_t epochs = 2;
inline constexpr std::uint64_t job_steps = steps * epochs;

/// Faults by their kinds: lost, repeated, moved, changed, extra.
using counts = std::array<std::uint64_t, num_fault_kinds>;

inline void seal(batch_line& x) {
  x.digest = {};
  for (std::size_t i = 0; i < x.ids.size(); ++i)
    x.digest += row_digest(x.epoch, x.positions[i], x.ids[i]);
}

/// A rank's part of the job's step `n`.
inline batch_line part(std::uint64_t n, std::uint64_t rank, std::uint64_t world_size) {
  const auto epoch = n / steps;
  const auto step = n % steps;
  batch_line x{.epoch = epoch, .step = step, .rank = rank, .world_size = world_size};
  for (auto p = step * batch_rows; p < (step + 1) * batch_rows; ++p)
    if (p % world_size == rank) {
      x.positions.push_back(p);
      x.ids.push_back("s/" + std::to_string((p * 5 + epoch * 3) % (batch_rows * steps)));
      x.pixels.push_back(row_digest(epoch, p, "pixels"));
    }
  seal(x);
  return x;
}

inline void erase_row(batch_line& x, std::size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  x.positions.erase(x.positions.begin() + at);
  x.ids.erase(x.ids.begin() + at);
  x.pixels.erase(x.pixels.begin() + at);
  seal(x);
}

/// Adds a row of `from` once more.
inline void copy_row(batch_line& x, const batch_line& from, std::size_t i) {
  x.positions.push_back(from.positions[i]);
  x.ids.push_back(from.ids[i]);
  x.pixels.push_back(from.pixels[i]);
  seal(x);
}

} // namespace leat::command
