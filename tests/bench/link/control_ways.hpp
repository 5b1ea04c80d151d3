#pragma once

#include "tests/bench/link/forked_part.hpp"

#include <string>

namespace leat::bench {

// What small messages between two processes cost, with TLS where there is a directory of
// certificates.

/// CPU seconds of both sides for a message of 1 KB, from actor to actor, by a link.
double link_message_seconds(const std::string& certificates);
/// The same by CAF's own protocol.
double basp_message_seconds(const std::string& certificates);

/// Microseconds from a message to its answer.
struct trip_times {
  double median = 0;
  /// The 99th percentile.
  double late = 0;
};

struct two_trips {
  trip_times quiet = {};
  trip_times busy = {};
};

/// By a link, alone and while rows of 4 MB go from one of the two processes to the other, as fast
/// as they can.
two_trips trips_beside_rows(const std::string& certificates);

struct stranger_trips {
  two_trips trips = {};
  /// Of the process with the port, in bytes.
  double growth = 0;
  double refused_per_second = 0;
  /// Of 1,000 connections that say nothing, those that were closed within 5 seconds.
  double closed = 0;
};

/// By a link, alone and while others, with certificates of another authority, make 300 handshakes a
/// second, and 1,000 connect and say nothing.
stranger_trips trips_beside_strangers(const std::string& certificates, const std::string& others);

} // namespace leat::bench
