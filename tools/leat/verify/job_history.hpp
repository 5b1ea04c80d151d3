#pragma once

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace leat::command {

/// Epoch, and step in it.
using step_key = std::pair<std::uint64_t, std::uint64_t>;

/// A number for a text; equal ids have equal numbers.
using id_number = std::uint32_t;
inline constexpr id_number no_id = UINT32_MAX;

struct delivered_row {
  std::uint64_t position = 0;
  /// What the order has here according to the log, and what was delivered: another one where it
  /// was substituted, `no_id` where it was masked.
  id_number due = no_id;
  id_number delivered = no_id;
  bool bad = false;
  hash128 pixels = {};
};

/// What one rank got in one step.
struct delivered_part {
  std::vector<delivered_row> rows;
  hash128 digest = {};
};

/// One start of a process, as its log has it.
struct process_attempt {
  /// Number of the job's attempt that it belongs to, rising in time.
  std::size_t when = 0;
  /// What logs of several processes of one time have in common, and the log. Between these, `when`
  /// is a guess.
  std::size_t group = 0;
  std::size_t log = 0;
  std::uint64_t world_size = 1;
  /// Empty: the process runs all ranks, or those that its lines have where it has no header.
  std::optional<std::uint64_t> rank = {};
  /// It is the whole attempt: no other process can have done a part of it.
  bool is_alone = false;
  /// Where it resumes.
  step_key start = {};
  /// By rank.
  std::map<std::uint64_t, std::map<step_key, delivered_part>> parts = {};

  bool runs(std::uint64_t r) const noexcept { return !rank || *rank == r; }
};

/// What the weights at the job's end have seen.
struct job_history {
  struct trained_step {
    step_key at;
    /// The parts of all ranks.
    std::vector<const delivered_part*> ranks;
  };
  /// Steps for which all ranks have a part.
  std::vector<trained_step> steps;
  /// Steps for which ranks have no attempt at all: no log of theirs was given, or they never began.
  struct gap {
    step_key begin;
    step_key end;
    std::vector<std::uint64_t> ranks;
    std::uint64_t world_size = 1;
  };
  std::vector<gap> gaps;
  /// What a process handed over of steps before the one with which it says it resumes.
  std::vector<std::pair<step_key, const delivered_part*>> strays;
};

/// Follows a job back from its last attempt: an attempt that goes on with step s throws away what
/// was handed over from s on, and rests on a set of snapshots of s: of one world size, and of
/// attempts that went on with one step. Of several sets, and attempts, that got there the latest
/// counts; where none did, the one that got farthest. Ranks in processes of their own may have made
/// their parts of a set in different attempts, and one that died early may have left its part in an
/// earlier one: processes that do not wait for each other leave such sets. What a process did that
/// ran all ranks, and got less far than others before it, is all that is left of these steps.
///
/// `attempts` in rising order of `when`; the result points into them. `steps_of_epoch`: where
/// known.
job_history history_of(const std::vector<process_attempt>& attempts,
                       const std::map<std::uint64_t, std::uint64_t>& steps_of_epoch);

} // namespace leat::command
