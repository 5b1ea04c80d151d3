#pragma once

#include <leat/cluster_report.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::command {

/// A feed, as all ranks of a job that read it have it.
struct job_feed {
  std::string name = {};
  /// Where ranks see the process that serves it, without ports: they differ by rank. Each once.
  std::vector<std::string> hosts = {};
  bool has_journal = false;
  /// Ranks that read it, and those of them that are served now.
  std::size_t ranks = 0;
  std::size_t served = 0;
  /// As the rank says that has heard of most.
  std::uint64_t records_read = 0;
  /// Records that the source has given, and the slowest rank has not come to.
  std::uint64_t lag = 0;
  /// The oldest record that some rank may still ask for.
  std::uint64_t needed_from = 0;
  /// Sums over all ranks.
  std::uint64_t records_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t records_per_second = 0;
  std::uint64_t bytes_per_second = 0;
  /// As the rank says that waits for it most.
  std::uint64_t waiting_permille = 0;
};

/// In the order in which ranks name them.
std::vector<job_feed> feeds_of_job(const cluster_report& x);

} // namespace leat::command
