#pragma once

#include <leat/hash128.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace leat::command {

/// An epoch, and a step within it.
using step_key = std::pair<std::uint64_t, std::uint64_t>;

/// A number that stands for an id; equal ids have equal numbers.
using id_number = std::uint32_t;
inline constexpr id_number no_id = UINT32_MAX;

struct delivered_row {
  std::uint64_t position = 0;
  /// The id that was due here according to the log, and the id that was delivered: another one if
  /// it was substituted, `no_id` if it was masked.
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

/// One start of a process, as its log records it.
struct process_attempt {
  /// Number of the job's attempt that it belongs to, rising with time.
  std::size_t when = 0;
  /// The group of logs that cover the same time, and the log within it. Between different logs of a
  /// group, `when` is a guess.
  std::size_t group = 0;
  std::size_t log = 0;
  std::uint64_t world_size = 1;
  /// Nothing: the process runs all ranks or, if it has no header, those of its lines.
  std::optional<std::uint64_t> rank = {};
  /// It is the whole attempt: no other process took part in it.
  bool is_alone = false;
  /// Where it resumes.
  step_key start = {};
  /// By rank and step.
  std::map<std::uint64_t, std::map<step_key, delivered_part>> parts = {};

  bool runs(std::uint64_t r) const noexcept { return !rank || *rank == r; }
};

/// What the weights at the end of the job have seen.
struct job_history {
  struct trained_step {
    step_key at;
    /// The parts of all ranks.
    std::vector<const delivered_part*> ranks;
  };
  /// Steps for which all ranks have a part.
  std::vector<trained_step> steps;
  /// Steps for which ranks have no attempt at all: their log was not given, or they never began.
  struct gap {
    step_key begin;
    step_key end;
    std::vector<std::uint64_t> ranks;
    std::uint64_t world_size = 1;
  };
  std::vector<gap> gaps;
  /// Parts of steps before the one at which their process resumed according to its header.
  std::vector<std::pair<step_key, const delivered_part*>> strays;
};

/// Follows a job back from its last attempt. An attempt that resumes with step s discards what was
/// handed over from s on, and is based on a set of snapshots of s, which attempts with the same
/// world size and the same first step have made. If several sets or attempts reached s, the latest
/// counts; if none did, the one that got farthest. Ranks in processes of their own may have made
/// their parts of a set in different attempts, and one that died early may have left its part in an
/// earlier one: processes that do not wait for each other leave such sets. If a process that ran
/// all ranks got less far than others before it, only what it did is left of these steps.
///
/// `attempts` come in rising order of `when`; the result points into them. `steps_of_epoch` has the
/// epochs whose number of steps is known.
job_history history_of(const std::vector<process_attempt>& attempts,
                       const std::map<std::uint64_t, std::uint64_t>& steps_of_epoch);

} // namespace leat::command
