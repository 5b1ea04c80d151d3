#include "runtime/feeding/fed_lanes.hpp"

#include <algorithm>

namespace leat {

fed_lanes::fed_lanes(const lanes_of_rank& place) : place_(place), lanes_(place.size()) {}

fed_lanes::own_lane* fed_lanes::own(std::uint64_t number) noexcept {
  const auto at = number % place_.lanes;
  return at % place_.world_size == place_.rank ? &lanes_[at / place_.world_size] : nullptr;
}

void fed_lanes::looked(std::uint64_t number, bool is_there) {
  looks_below_ = std::max(looks_below_, number + 1);
  auto* const at = own(number);
  if (!is_there || !at || number < at->taken_below)
    return;
  at->taken_below = number + 1;
  ++taken_;
}

void fed_lanes::resume(std::uint64_t behind) {
  looks_below_ = std::max(looks_below_, behind);
}

void fed_lanes::cover(std::uint64_t number, std::uint64_t lane) {
  if (auto* const at = own(lane))
    at->covered_below = std::max(at->covered_below, number);
}

std::uint64_t fed_lanes::needed_from() const noexcept {
  std::uint64_t lowest = lanes_.empty() ? 0 : UINT64_MAX;
  for (const auto& x : lanes_)
    lowest = std::min(lowest, x.covered_below);
  return lowest;
}

} // namespace leat
