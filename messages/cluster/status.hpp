#pragma once

#include "messages/cluster/feed_progress.hpp"
#include "messages/cluster/job_rules.hpp"

#include <leat/job_position.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// A seat, as the coordinator sees it.
struct rank_status {
  std::uint64_t rank = 0;
  std::string host_name = {};
  std::uint64_t pid = 0;
  job_position at = {};
  /// None before the process has loaded the set that its term began with.
  std::optional<std::uint64_t> global_step = {};
  /// Time since its last beat.
  std::uint64_t silent_ns = 0;
  bool is_connected = false;
  bool is_done = false;
  bool has_come_back = false;
  std::uint64_t hunger = 0;
  std::uint64_t rows_per_second = 0;
  /// As in its beats.
  std::string workers_at = {};
  std::uint64_t workers = 0;
  std::uint64_t helper_cores = 0;
  std::string feeds_at = {};
  std::vector<feed_progress> fed = {};
  std::string failure = {};
};

/// A process that wants a seat.
struct waiting_status {
  std::string host_name = {};
  std::uint64_t pid = 0;
  std::optional<std::uint64_t> rank = {};
  std::string waits_for = {};
};

/// A coordinator's answer to an observer of the job.
struct cluster_status {
  std::uint64_t life = 0;
  std::uint64_t term = 0;
  /// As coordinator_state::phase.
  std::uint8_t phase = 0;
  std::string reason = {};
  std::optional<job_position> start = {};
  std::optional<job_position> stored = {};
  std::optional<job_position> target = {};
  std::uint64_t store_failures = 0;
  std::string store_failure = {};
  job_rules rules = {};
  std::string sets = {};
  std::string job = {};
  std::vector<rank_status> ranks = {};
  std::vector<waiting_status> waiting = {};
};

} // namespace leat
