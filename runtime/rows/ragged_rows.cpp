#include "runtime/rows/ragged_rows.hpp"

#include <algorithm>
#include <cstring>

namespace leat {

ragged_row ragged_rows::target(std::size_t row, bool follows) noexcept {
  const bool is_followed = row == 0 && joined_ > 1; // by rows of a thread that died
  extents_[row].is_apart = !follows || is_followed;
  if (extents_[row].is_apart)
    return {.in = &apart_[row]};
  // Whatever the row before it left behind, if it was bad, is overwritten.
  const auto begin = row == 0 ? 0 : extents_[row - 1].end;
  extents_[row] = {begin, begin};
  joined_ = row + 1;
  return {.in = &joined_bytes_, .begin = begin, .end = &extents_[row].end};
}

void ragged_rows::clear(std::size_t row) noexcept {
  if (is_joined(row))
    extents_[row].end = extents_[row].begin;
  else
    apart_[row].resize(0);
}

std::span<const std::byte> ragged_rows::row(std::size_t i) const noexcept {
  const auto& x = extents_[i];
  return x.is_apart ? std::span{apart_[i].data(), apart_[i].size()}
                    : std::span{joined_bytes_.data() + x.begin, x.end - x.begin};
}

std::size_t ragged_rows::bytes() const noexcept {
  std::size_t all = 0;
  for (std::size_t i = 0; i < extents_.size(); ++i)
    all += size_of(i);
  return all;
}

/// A row that was made once more may be longer than its place among the others.
void ragged_rows::separate_after_first_apart() {
  std::size_t first = 0;
  while (is_joined(first))
    ++first;
  for (auto i = first; i < joined_; ++i)
    if (is_joined(i)) {
      const auto from = row(i);
      apart_[i].resize(from.size());
      std::copy(from.begin(), from.end(), apart_[i].data());
    }
  joined_ = std::min(joined_, first);
}

std::span<const std::byte> ragged_rows::join() {
  separate_after_first_apart();
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
