#include "runtime/rows/ragged_rows.hpp"

#include <cstring>

namespace leat {

ragged_row ragged_rows::target(std::size_t row, bool follows) noexcept {
  if (!follows)
    return {.in = &apart_[row]};
  // Whatever the row before it left behind, if it was bad, is overwritten.
  const auto begin = row == 0 ? 0 : extents_[row - 1].end;
  extents_[row] = {begin, begin};
  joined_ = row + 1;
  return {.in = &joined_bytes_, .begin = begin, .end = &extents_[row].end};
}

void ragged_rows::clear(std::size_t row) noexcept {
  if (row < joined_)
    extents_[row].end = extents_[row].begin;
  else
    apart_[row].resize(0);
}

std::size_t ragged_rows::bytes() const noexcept {
  std::size_t all = 0;
  for (std::size_t i = 0; i < extents_.size(); ++i)
    all += size_of(i);
  return all;
}

std::span<const std::byte> ragged_rows::join() {
  joined_bytes_.resize(std::max(joined_bytes_.size(), bytes()));
  auto* const to = joined_bytes_.data();
  std::size_t end = 0;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const auto n = size_of(i);
    const auto* from = i < joined_ ? to + extents_[i].begin : apart_[i].data();
    // A row that was cleared leaves a gap, which those after it close.
    if (n > 0 && from != to + end)
      std::memmove(to + end, from, n);
    end += n;
  }
  return {to, end};
}

} // namespace leat
