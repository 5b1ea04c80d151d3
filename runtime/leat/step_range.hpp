#pragma once

#include <cstdint>

namespace leat {

/// Steps of a job by their numbers, first and last included.
struct step_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const step_range&, const step_range&) = default;
};

} // namespace leat
