#pragma once

#include "messages/cluster/feed_claim.hpp"
#include "messages/cluster/feed_progress.hpp"
#include "messages/cluster/incarnation.hpp"
#include "messages/epoch_horizon.hpp"

#include <leat/job_position.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// The full state of a rank's process, sent to the coordinator every second and whenever something
/// that others wait for has advanced. Each beat is complete, so a lost one does no harm.
struct cluster_beat {
  /// Sequence number of the process's beats.
  std::uint64_t number = 0;
  incarnation who = {};
  /// The newest life of a coordinator that it knows of.
  std::uint64_t life = 0;
  /// The term in which it holds its seat; 0: it has no seat and wants one.
  std::uint64_t term = 0;
  /// Directory of the job's sets of parts; empty: it neither restores nor saves.
  std::string sets = {};
  /// Where it wants the next term to begin, if not at the newest set.
  std::optional<job_position> start = {};

  // State in the term:
  /// The first place of the job that it may still save: it is done with all batches before.
  job_position saves_from = {};
  /// The job's step at that place; none before it has loaded the set that its term began with.
  std::optional<std::uint64_t> global_step = {};
  /// For the epochs that it works on: the batches that it has rows for.
  std::map<std::uint64_t, epoch_horizon> horizons = {};
  /// Number of batches of each epoch that is known to have ended since the newest stored set.
  std::map<std::uint64_t, std::uint64_t> ends = {};
  /// Places whose part of a snapshot it keeps.
  std::vector<job_position> saved = {};
  /// Its trainer is blocked until the newest of them is stored or given up.
  bool waits_for_saved = false;
  /// What has failed in this process; empty: nothing.
  std::string failure = {};
  /// It has handed over all batches, and all that it saved is stored.
  bool is_done = false;
  /// It leaves the job and no longer wants a seat.
  bool is_leaving = false;

  /// Processes of its host that are known to be dead.
  std::vector<incarnation> gone = {};

  // For observers of the job:
  /// Share of the time since the previous beat that next() waited, in thousandths.
  std::uint64_t hunger = 0;
  std::uint64_t rows_per_second = 0;
  /// "host:port" where helpers may join to make its rows; empty: nowhere.
  std::string workers_at = {};
  /// Threads that make its rows: its own, and those of helpers.
  std::uint64_t workers = 0;
  std::uint64_t helper_cores = 0;

  /// "host:port" where feeds connect; empty: nowhere.
  std::string feeds_at = {};
  /// Records that serve this job, or may: the first that the coordinator hears of for each name.
  std::vector<feed_claim> feeds = {};
  /// For observers: what they have given it.
  std::vector<feed_progress> fed = {};
  /// It serves its own sources to all ranks, and asks where these are.
  bool serves = false;
};

} // namespace leat
