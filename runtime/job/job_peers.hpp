#pragma once

#include "messages/epoch_horizon.hpp"
#include "runtime/base/not_copied.hpp"

#include <cstdint>

namespace leat {

/// What a rank's job asks of the other ranks while it runs. Waits throw patience_ended: when the
/// caller gives up, and when the rank has lost its seat; nothing is lost then, and they may be
/// called again.
class job_peers : not_copied {
public:
  virtual ~job_peers() = default;

  /// The rank has rows for so many batches of an epoch. Any thread.
  virtual void state(std::uint64_t epoch, const epoch_horizon& x) = 0;
  /// Waits until all ranks have rows for a batch after this step of the epoch, or it is known where
  /// the epoch ends.
  virtual epoch_horizon wait_for_end(std::uint64_t epoch, std::uint64_t step) = 0;
  /// Waits until the trainer may have the batch of this step of the job.
  virtual void wait_to_hand_over(std::uint64_t global_step) = 0;
};

} // namespace leat
