#pragma once

#include <cstdint>

namespace leat {

/// How much of an epoch a rank, or a whole job, knows.
struct epoch_horizon {
  /// Batches of the epoch that there are rows for.
  std::uint64_t batches = 0;
  /// There will be no more of them.
  bool is_final = false;

  friend bool operator==(const epoch_horizon&, const epoch_horizon&) = default;
};

} // namespace leat
