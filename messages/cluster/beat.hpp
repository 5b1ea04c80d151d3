#pragma once

#include "messages/cluster/incarnation.hpp"
#include "messages/epoch_horizon.hpp"

#include <leat/job_position.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// What a rank's process states to the coordinator, every second and whenever something that others
/// wait for has risen. It is all that there is to say: a beat that is lost does no harm.
struct cluster_beat {
  /// Rises with each beat of the process.
  std::uint64_t number = 0;
  incarnation who = {};
  /// The newest life of a coordinator that it has heard of.
  std::uint64_t life = 0;
  /// The term in which it holds its seat; 0: it has none, and wants one.
  std::uint64_t term = 0;
  /// Where the job's sets of parts are kept; empty: it neither restores nor saves.
  std::string sets = {};
  /// Where it wants the next term to begin, if not at the newest set.
  std::optional<job_position> start = {};

  // Of the term:
  /// The first place of the job that it may still save: it is done with all batches before.
  job_position behind = {};
  /// The step of the job there; none before it has loaded the set that its term began with.
  std::optional<std::uint64_t> global_step = {};
  /// For the epochs that it is in: the batches that it has rows for.
  std::map<std::uint64_t, epoch_horizon> horizons = {};
  /// Batches of epochs that are known to have ended since the newest stored set.
  std::map<std::uint64_t, std::uint64_t> ends = {};
  /// Places whose part of a snapshot it keeps.
  std::vector<job_position> saved = {};
  /// Its trainer does nothing before the newest of them is stored, or given up.
  bool waits_for_saved = false;
  /// What has failed in it; empty: nothing.
  std::string failure = {};
  /// It has handed over all batches, and all that it saved is stored.
  bool is_done = false;
  /// It goes: it wants no seat any more.
  bool is_leaving = false;

  /// Processes of its host that are known to be dead.
  std::vector<incarnation> gone = {};

  // For those who look at the job:
  /// Share of the time that next() waited since the beat before, in thousandths.
  std::uint64_t hunger = 0;
  std::uint64_t rows_per_second = 0;
};

} // namespace leat
