#pragma once

#include "messages/cluster/incarnation.hpp"
#include "messages/cluster/job_rules.hpp"
#include "messages/cluster/process_identity.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Raised with every change of what the messages of a cluster mean: nodes of two versions do not
/// work together.
inline constexpr std::uint64_t cluster_protocol = 2;

/// The first message of a rank's process on each connection: who it is, and what it would train on.
/// A coordinator hears nothing else from it before.
struct cluster_hello {
  std::uint64_t protocol = cluster_protocol;
  /// Of leat, for texts.
  std::string version = {};
  /// The job's secret: a wrong one gets no answer.
  std::string token = {};
  /// The job's id: see `state_directory`.
  std::string job = {};
  incarnation who = {};
  process_identity process = {};
  /// For people.
  std::string host_name = {};
  /// The rank that the launcher gave it; none: the coordinator gives one.
  std::optional<std::uint64_t> rank = {};
  job_rules rules = {};
  /// The time between two of its beats, in ns.
  std::uint64_t beat_ns = 0;
  /// An encoded snapshot of the job's beginning: its pipeline, which must be the same everywhere.
  std::string pipeline = {};
  /// What else must be the same everywhere: names with values as texts.
  std::vector<std::pair<std::string, std::string>> options = {};
  /// World sizes that the pipeline can have: the divisors of this number; 0: any.
  std::uint64_t lanes = 0;
  /// Epochs of unknown length end with the rank that has the most batches (`mask`), not with the
  /// one that has the fewest (`drop`).
  bool ends_with_last = false;
};

} // namespace leat
