#pragma once

#include "messages/cluster/job_rules.hpp"
#include "runtime/base/limits.hpp"

#include <chrono>
#include <string>

namespace leat {

/// How long things take in a cluster.
struct cluster_times {
  using time = std::chrono::nanoseconds;

  /// Between two beats of a process.
  time beat = std::chrono::seconds{1};
  /// A rank that has been silent for so long is lost; its seat is not free yet.
  time lost = std::chrono::seconds{10};
  /// The same after its connection was closed: a rank that is alive reconnects sooner.
  time lost_unconnected = std::chrono::seconds{3};
  /// A rank hands over batches for so long after the last beat that the coordinator has answered.
  time lease = std::chrono::seconds{30};
  /// A rank that is lost under the policy `alone` may come back for so long; then all go back.
  time rejoin_within = std::chrono::minutes{10};
  /// An elastic job begins when nobody has joined for so long.
  time last_call = std::chrono::seconds{10};
  /// A coordinator stays this long after the last beat, to say how the job has ended.
  time linger = std::chrono::seconds{10};
};

/// False for numbers that no job can have: peers are not trusted.
inline bool is_possible(const job_rules& x) noexcept {
  if (x.is_elastic())
    return x.least_ranks > 0 && x.least_ranks <= x.most_ranks && x.most_ranks <= max_world_size;
  return x.world_size <= max_world_size;
}

struct coordinator_settings {
  /// The job's id, which processes that name one must name; empty: any.
  std::string job = {};
  cluster_times times = {};
  /// Stored sets that stay.
  std::uint64_t keep = 3;
};

} // namespace leat
