#pragma once

#include "runtime/base/numbers/counted_numbers.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat {

/// For each lane of a job, the number below which it asks for no record again. Record n belongs to
/// lane n mod L.
class released_lanes {
public:
  /// The lane asks for no record below `number` again. With another number of lanes it is another
  /// job, of which nothing is known yet.
  void release_below(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) {
    if (below_.size() != lanes)
      begin(lanes);
    set(lane, std::max(below_[lane], number));
  }
  /// The lane may ask for the records from `number` on after all.
  void hold_from(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) {
    if (below_.size() == lanes) // otherwise another job's, which has released nothing for this one
      set(lane, std::min(below_[lane], number));
  }

  /// No lane asks for a record below it.
  std::uint64_t lowest() const { return counts_.empty() ? 0 : counts_.least(); }
  /// The first of the lanes that hold records from lowest() on.
  std::uint64_t slowest_lane() const {
    return static_cast<std::uint64_t>(std::min_element(below_.begin(), below_.end())
                                      - below_.begin());
  }

private:
  void begin(std::uint64_t lanes) {
    below_.assign(lanes, 0);
    counts_.clear();
    for (std::uint64_t i = 0; i < lanes; ++i)
      counts_.add(0);
  }
  void set(std::uint64_t lane, std::uint64_t number) {
    counts_.change(below_[lane], number);
    below_[lane] = number;
  }

  std::vector<std::uint64_t> below_;
  /// What `below_` has, counted: a feed of many ranks asks for the lowest one with every message.
  counted_numbers counts_;
};

} // namespace leat
