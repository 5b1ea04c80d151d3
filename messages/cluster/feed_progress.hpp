#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// What a rank has had of a feed; for people.
struct feed_progress {
  std::string name = {};
  /// "host:port" of the process that serves it, as the rank sees it; empty: nobody does.
  std::string at = {};
  bool has_journal = false;
  /// Records that its source has given.
  std::uint64_t records_read = 0;
  /// The rank's iterators have come to the records before this number.
  std::uint64_t reached = 0;
  /// The oldest record that the rank may still ask for.
  std::uint64_t needed_from = 0;
  /// Since the rank's loader began: what came to it, and how long it waited for that or for the
  /// source, in nanoseconds.
  std::uint64_t records_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t waited_ns = 0;
  // Since the previous beat; the share of the time is in thousandths.
  std::uint64_t records_per_second = 0;
  std::uint64_t bytes_per_second = 0;
  std::uint64_t hunger = 0;

  friend bool operator==(const feed_progress&, const feed_progress&) = default;
};

} // namespace leat
