#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace leat::command {

/// What the processes of one attempt of a job have in common: the world size, the epoch and step
/// with which they resume, and whether there is only one process, with all ranks.
struct attempt_key {
  std::uint64_t world_size = 1;
  std::pair<std::uint64_t, std::uint64_t> start = {};
  bool is_alone = false;

  // clang-tidy 14 takes the defaulted operator for a literal 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const attempt_key&, const attempt_key&) = default;
};

/// Numbers a job's attempts in order of time: of each log the numbers of its attempts, which rise.
/// `logs`: of processes that ran at the same time, each in order of time, some without an attempt
/// that others have: processes that began later with the job, or died before they wrote anything.
std::vector<std::vector<std::size_t>>
order_of_attempts(const std::vector<std::vector<attempt_key>>& logs);

} // namespace leat::command
