#include "runtime/order/operators/drawn_list.hpp"

#include <algorithm>
#include <utility>

namespace leat {

void drawn_list::push_back(std::uint32_t x) {
  if (pieces_.empty() || counts_.back() == most) {
    if (!spare_)
      spare_ = std::make_unique<piece>();
    counts_.reserve(counts_.size() + 1);
    pieces_.push_back(std::move(spare_));
    counts_.push_back(0);
  }
  (*pieces_.back())[counts_.back()++] = x;
  ++size_;
}

std::uint32_t drawn_list::take(std::size_t i) noexcept {
  std::size_t p = 0;
  for (; i >= counts_[p]; ++p)
    i -= counts_[p];
  auto& from = *pieces_[p];
  const auto taken = from[i];
  std::copy(from.begin() + i + 1, from.begin() + counts_[p], from.begin() + i);
  --counts_[p];
  --size_;
  if (counts_[p] == 0)
    remove(p);
  else if (p + 1 < pieces_.size() && counts_[p] + counts_[p + 1] <= most / 2)
    join_next(p);
  return taken;
}

void drawn_list::remove(std::size_t p) noexcept {
  spare_ = std::move(pieces_[p]);
  pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(p));
  counts_.erase(counts_.begin() + static_cast<std::ptrdiff_t>(p));
}

/// Pieces of which little is left would have to be looked through as well.
void drawn_list::join_next(std::size_t p) noexcept {
  const auto& next = *pieces_[p + 1];
  std::copy_n(next.begin(), counts_[p + 1], pieces_[p]->begin() + counts_[p]);
  counts_[p] += counts_[p + 1];
  remove(p + 1);
}

} // namespace leat
