#pragma once

#include <compare>
#include <cstdint>

namespace leat {

/// Where a job stands: at its next batch.
struct job_position {
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;

  friend bool operator==(const job_position&, const job_position&) = default;
  friend auto operator<=>(const job_position&, const job_position&) = default; // NOLINT: no pointer
};

} // namespace leat
