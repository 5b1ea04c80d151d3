#pragma once

#include "tests/bench/link/forked_part.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace leat::bench {

/// How rows get from one process to another: by a socket and nothing else, by CAF's own protocol,
/// where each row is asked for, or by a bulk connection.
enum class row_way : std::uint8_t { raw, basp, bulk };

struct row_job {
  row_way way = row_way::bulk;
  /// With the directories `rank` and `worker`, which have certificates; empty: without TLS.
  std::string certificates = {};
  std::size_t row_bytes = 0;
  std::uint64_t rows = 0;
  /// How long the consumer takes for each.
  std::chrono::microseconds pause{0};
};

/// What a window holds: 8 MB, but 4 to 256 rows.
std::uint64_t rows_in_window(const row_job& x);

/// Makes rows in one process and takes them in another, with TLS where there are certificates.
struct row_costs {
  double rows_per_second = 0;
  /// Of both processes, from the first row to the last.
  double seconds_per_gigabyte = 0;
  /// CPU time of the process that takes them, without the other one's.
  double consumer_seconds_per_gigabyte = 0;
  /// Resident bytes over those before the first row; of the second half of the time.
  double source_growth = 0;
  double consumer_growth = 0;
  double second_half_growth = 0;
};
row_costs costs_of(const row_job& x);

/// Rows from this process until it ends, for whoever calls `take_rows` at the port that is said to
/// the other one. Neither returns before all of `x.rows` are there.
std::vector<double> take_rows(const row_job& x, const part_line& source);
std::vector<double> make_rows(const row_job& x, const part_line& consumer);

} // namespace leat::bench
