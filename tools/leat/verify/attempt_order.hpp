#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace leat::command {

/// What the processes of one attempt of a job have in common: the world size, the epoch and step at
/// which they resume, and whether a single process runs all ranks.
struct attempt_key {
  std::uint64_t world_size = 1;
  std::pair<std::uint64_t, std::uint64_t> start = {};
  bool is_alone = false;

  // clang-tidy 14 mistakes the defaulted operator for a literal 0.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  friend auto operator<=>(const attempt_key&, const attempt_key&) = default;
};

/// Numbers a job's attempts in order of time; returns for each log the numbers of its attempts,
/// which rise. `logs` are those of processes that ran at the same time, each in order of time. A
/// log may lack attempts that others have: its process joined the job later, or died before it
/// wrote anything.
std::vector<std::vector<std::size_t>>
order_of_attempts(const std::vector<std::vector<attempt_key>>& logs);

} // namespace leat::command
