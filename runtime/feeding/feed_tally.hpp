#pragma once

#include "runtime/sources/feed/feed_messages.hpp"

#include <cstdint>
#include <string>

namespace leat {

/// What a rank has had of a feed so far, and what that has cost; for people. Counts are of all jobs
/// of a loader, times are nanoseconds.
struct feed_tally {
  std::string name = {};
  /// "host:port" of the process that serves it, as the rank sees it; empty: nobody does.
  std::string at = {};

  // As the feed has said last:
  bool has_journal = false;
  bool has_ended = false;
  /// Records that its source has given, since it first began.
  std::uint64_t records_read = 0;
  feed_costs costs = {};

  // In the present job, as numbers of records:
  /// The rank's iterators have come to those before.
  std::uint64_t reached = 0;
  /// The oldest that the rank may still ask for, here or after a restore.
  std::uint64_t needed_from = 0;

  /// Records of the rank's lanes that its iterators have had.
  std::uint64_t records_taken = 0;
  /// Records that came, and bytes of their contents.
  std::uint64_t records_received = 0;
  std::uint64_t bytes_received = 0;
  /// Bytes that rank and feed have sent each other, without what TLS and TCP add.
  std::uint64_t wire_bytes = 0;

  /// Iterators had come to records that the source had not given.
  std::int64_t starved = 0;
  /// Some thread waited for a record that the source had given; and summed up over all threads.
  std::int64_t fetching = 0;
  std::int64_t waited = 0;
  /// Time of processors, in the threads of the feed's connections.
  std::int64_t processor = 0;
};

} // namespace leat
