#pragma once

#include "messages/cluster/incarnation.hpp"
#include "messages/cluster/job_rules.hpp"
#include "messages/cluster/process_identity.hpp"

#include <leat/hash128.hpp>
#include <leat/job_position.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Where a job of several processes stands.
enum class job_phase : std::uint8_t {
  /// It waits for ranks, and for seats of the term before to become free.
  forming,
  running,
  /// All batches were handed over, and all that was saved is stored. For good.
  over,
  /// A rank has failed, up to the next term.
  failed,
};

/// What a coordinator makes durable before anyone hears of it; the next coordinator begins with it.
struct coordinator_state {
  struct seat {
    incarnation holder = {};
    /// For a later coordinator, which may never hear from the holder: processes on its host can
    /// look whether it has ended.
    process_identity process = {};
    /// Another process held it earlier in the term.
    bool has_come_back = false;

    friend bool operator==(const seat&, const seat&) = default;
  };

  /// Terms are numbered from 1.
  std::uint64_t term = 0;
  job_phase phase = job_phase::forming;
  /// Those of the newest term, by rank.
  std::vector<seat> seats = {};
  /// The rules that all ranks of the term had in common; none before the first term.
  std::optional<job_rules> rules = {};
  /// What the ranks train on: see `work_of`.
  hash128 work = {};
  /// The stored set that the term began with; none: the job's beginning.
  std::optional<job_position> start = {};
  /// Why the term began, why the job waits, or what has failed.
  std::string reason = {};
  /// Directory of the job's sets of parts; empty: not known yet.
  std::string sets = {};

  friend bool operator==(const coordinator_state&, const coordinator_state&) = default;
};

/// As bytes, for a state directory.
std::string encode(const coordinator_state& x);
/// Throws `errc::torn_file` with `name` for anything else.
coordinator_state decode_coordinator_state(std::string_view bytes, const std::string& name);

} // namespace leat
