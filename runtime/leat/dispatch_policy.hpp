#pragma once

#include <cstdint>

namespace leat {

/// Which worker makes which rows. The batches are the same.
enum class dispatch_policy : std::uint8_t {
  /// An idle worker takes the next row.
  on_demand,
  /// Row i of a rank's batch goes to worker i mod n.
  round_robin,
  /// A lane's rows go to one worker: affinity for what a lane keeps open.
  by_lane,
};

} // namespace leat
