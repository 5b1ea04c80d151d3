#pragma once

#include <cstdint>

namespace leat {

/// Rules that must be the same for all processes of a job.
struct job_rules {
  /// Number of ranks, which the launcher has numbered; 0: the coordinator numbers them, and accepts
  /// from `least_ranks` to `most_ranks`.
  std::uint64_t world_size = 1;
  std::uint64_t least_ranks = 1;
  std::uint64_t most_ranks = 1;
  /// When a rank is lost, the others continue, and it comes back at the step that its trainer
  /// names; otherwise all go back to the newest stored set.
  bool comes_back_alone = false;
  /// If so: how many batches a rank may be ahead of the slowest one.
  std::uint64_t run_ahead = 1000;

  bool is_elastic() const noexcept { return world_size == 0; }
  /// Coming back needs a rank number that stays the same.
  bool lets_ranks_come_back() const noexcept { return comes_back_alone && !is_elastic(); }
  friend bool operator==(const job_rules&, const job_rules&) = default;
};

} // namespace leat
