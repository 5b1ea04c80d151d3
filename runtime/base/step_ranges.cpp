#include "runtime/base/step_ranges.hpp"

#include <algorithm>

namespace leat {

step_set::step_set(const std::vector<step_range>& ranges) {
  for (const auto& x : ranges)
    add(x);
}

void step_set::add(const step_range& steps) {
  auto whole = steps;
  // Merges all ranges that overlap or adjoin it.
  const auto touches = [&](const step_range& x) {
    const bool is_before = x.last < steps.first && steps.first - x.last > 1;
    const bool is_after = steps.last < x.first && x.first - steps.last > 1;
    if (is_before || is_after)
      return false;
    whole = {std::min(whole.first, x.first), std::max(whole.last, x.last)};
    return true;
  };
  std::erase_if(ranges_, touches);
  const auto next = std::find_if(ranges_.begin(), ranges_.end(),
                                 [&](const step_range& x) { return x.first > whole.last; });
  ranges_.insert(next, whole);
}

bool step_set::contains(std::uint64_t step) const noexcept {
  return !first_missing({step, step});
}

std::optional<std::uint64_t> step_set::first_missing(const step_range& steps) const noexcept {
  for (const auto& x : ranges_)
    if (x.first <= steps.first && steps.first <= x.last) {
      if (x.last >= steps.last)
        return std::nullopt;
      return x.last + 1; // missing, as ranges do not adjoin
    }
  return steps.first;
}

} // namespace leat
