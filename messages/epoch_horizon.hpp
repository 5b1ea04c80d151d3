#pragma once

#include <cstdint>

namespace leat {

/// How much of an epoch is known to a rank or a whole job.
struct epoch_horizon {
  /// Batches of the epoch for which there are rows.
  std::uint64_t batches = 0;
  /// There will be no further batches.
  bool is_final = false;

  friend bool operator==(const epoch_horizon&, const epoch_horizon&) = default;
};

} // namespace leat
