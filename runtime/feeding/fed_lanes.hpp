#pragma once

#include "runtime/sources/feed/feed_messages.hpp"

#include <cstdint>
#include <vector>

namespace leat {

/// How far a rank's iterators have come in the lanes of a feed, for people. A plain value.
class fed_lanes {
public:
  explicit fed_lanes(const lanes_of_rank& place);

  /// Iterators have looked at this record, which is there, or is not yet, or never will be.
  void looked(std::uint64_t number, bool is_there);
  /// The job resumes after the records before this number.
  void resume(std::uint64_t behind);
  /// As feed_client::cover.
  void cover(std::uint64_t number, std::uint64_t lane);

  /// They have looked at a record that is not among those before `next`.
  bool is_short(std::uint64_t next) const noexcept { return looks_below_ > next; }
  /// They have come to the records before this number, which is at most `next`: whoever waits in
  /// some lane for the next one has come to all.
  std::uint64_t reached(std::uint64_t next) const noexcept {
    return looks_below_ < next ? looks_below_ : next;
  }
  /// The oldest record that one of the rank's lanes may still ask for.
  std::uint64_t needed_from() const noexcept;
  /// Records of the rank's lanes that they have had; each counts once.
  std::uint64_t taken() const noexcept { return taken_; }

private:
  struct own_lane {
    std::uint64_t taken_below = 0;
    std::uint64_t covered_below = 0;
  };
  /// Null if it is another rank's.
  own_lane* own(std::uint64_t number) noexcept;

  const lanes_of_rank place_;
  std::vector<own_lane> lanes_;
  std::uint64_t looks_below_ = 0;
  std::uint64_t taken_ = 0;
};

} // namespace leat
