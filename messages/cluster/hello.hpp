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

/// Incremented with every change in the meaning of a cluster's messages: nodes of different
/// versions do not work together.
inline constexpr std::uint64_t cluster_protocol = 2;

/// The first message of a rank's process on each connection: who it is, and what it would train on.
/// The coordinator accepts nothing else from it before.
struct cluster_hello {
  std::uint64_t protocol = cluster_protocol;
  /// Version of leat, for texts.
  std::string version = {};
  /// The job's secret: a hello with a wrong one gets no answer.
  std::string token = {};
  /// The job's id: see `state_directory`.
  std::string job = {};
  incarnation who = {};
  process_identity process = {};
  /// For display only.
  std::string host_name = {};
  /// The rank assigned by the launcher; none: the coordinator assigns one.
  std::optional<std::uint64_t> rank = {};
  job_rules rules = {};
  /// The time between two of its beats, in ns.
  std::uint64_t beat_ns = 0;
  /// An encoded snapshot of the job's beginning, with its pipeline, which must be the same
  /// everywhere.
  std::string pipeline = {};
  /// Other options that must be the same everywhere, as pairs of name and value.
  std::vector<std::pair<std::string, std::string>> options = {};
  /// The world size must be a divisor of this number; 0: any.
  std::uint64_t lanes = 0;
  /// Whether epochs of unknown length end with the rank that has the most batches (`mask`), and not
  /// with the one that has the fewest (`drop`).
  bool ends_with_last = false;
};

} // namespace leat
