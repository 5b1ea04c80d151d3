#pragma once

#include <cstdint>

namespace leat {

/// What all processes of a job must want alike.
struct job_rules {
  /// Ranks that the launcher has numbered; 0: the coordinator numbers them, and takes from
  /// `least_ranks` to `most_ranks`.
  std::uint64_t world_size = 1;
  std::uint64_t least_ranks = 1;
  std::uint64_t most_ranks = 1;
  /// When a rank is lost, the others go on, and it comes back where its trainer says; otherwise all
  /// go back to the newest stored set.
  bool comes_back_alone = false;
  /// Then: batches that a rank may be ahead of the last one.
  std::uint64_t run_ahead = 1000;

  bool is_elastic() const noexcept { return world_size == 0; }
  /// A lost rank has a number to come back to.
  bool lets_ranks_come_back() const noexcept { return comes_back_alone && !is_elastic(); }
  friend bool operator==(const job_rules&, const job_rules&) = default;
};

} // namespace leat
