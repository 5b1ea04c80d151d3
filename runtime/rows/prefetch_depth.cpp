#include "runtime/rows/prefetch_depth.hpp"

#include "runtime/rows/batch_memory.hpp"

#include <algorithm>

namespace leat {

namespace {

constexpr std::size_t fewest_ahead = 2;
constexpr std::size_t most_batches = 16;
/// Memory for all batches that are made ahead, if there are more than the fewest.
constexpr std::size_t planned_memory = std::size_t{8} << 20;
/// More batches than planned are worth it only as long as they stay in a core's caches, together
/// with what is noted about their rows.
constexpr std::size_t near_memory = std::size_t{4} << 20;
constexpr std::size_t noted_about_row = 512;
/// A row of a ragged field, before one was seen.
constexpr std::size_t ragged_guess = std::size_t{64} << 10;
constexpr std::uint64_t longest_between_looks = 256;

std::size_t that_fit(std::size_t memory, std::size_t batch_bytes) noexcept {
  return std::clamp(memory / std::max<std::size_t>(1, batch_bytes), fewest_ahead, most_batches);
}

bool has_ragged(const batch_layout& layout) noexcept {
  return std::any_of(layout.fields().begin(), layout.fields().end(),
                     [](const auto& x) { return x.ragged; });
}

std::size_t planned_bytes(const batch_layout& layout, std::size_t rows) noexcept {
  std::size_t row = 0;
  for (const auto& x : layout.fields())
    row += x.ragged ? ragged_guess : x.row_bytes();
  return rows * row;
}

} // namespace

prefetch_depth::prefetch_depth(const batch_layout& layout, std::size_t rows,
                               std::size_t asked) noexcept
    : planned_(asked > 0 ? asked : that_fit(planned_memory, planned_bytes(layout, rows))),
      batches_(planned_), learns_(asked == 0 && has_ragged(layout)) {}

void prefetch_depth::look(const batch_memory& batch) noexcept {
  next_look_ = seen_ + std::min(seen_, longest_between_looks) - 1;
  largest_ = std::max(largest_, batch.bytes() + batch.rows() * noted_about_row);
  // Doubled at most: the first batches may be smaller than those that follow.
  batches_ = std::max(planned_, std::min(that_fit(near_memory, largest_), 2 * batches_));
}

} // namespace leat
