#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat {

/// Records of a source that exists once, which an item or an operator's state needs.
struct record_use {
  /// The source, by its index among those of the plan.
  std::uint32_t feed = 0;
  /// No record with a lower number is needed.
  std::uint64_t lowest = 0;
  /// All records used so far have lower numbers than this.
  std::uint64_t behind = 0;

  friend bool operator==(const record_use&, const record_use&) = default;
};

/// At most one for each source.
using record_uses = std::vector<record_use>;

inline void add(record_uses& to, const record_use& x) {
  const auto same =
      std::find_if(to.begin(), to.end(), [&](const auto& y) { return y.feed == x.feed; });
  if (same == to.end()) {
    to.push_back(x);
    return;
  }
  same->lowest = std::min(same->lowest, x.lowest);
  same->behind = std::max(same->behind, x.behind);
}

} // namespace leat
