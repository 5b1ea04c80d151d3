#pragma once

#include "runtime/job/job_progress.hpp"
#include "runtime/order/order.hpp"
#include "runtime/rows/row_request.hpp"

#include <leat/epoch_agreement.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace leat {

/// Gives every rank what all ranks said, in the order of ranks.
using all_gather = std::function<std::vector<epoch_agreement>(const epoch_agreement&)>;

/// Agrees with the other ranks of a job on the end of an epoch whose length is unknown. All ranks
/// ask at the same batches.
class agreement {
public:
  struct job_end {
    std::uint64_t epochs = 1;
    std::uint64_t steps = UINT64_MAX;
  };

  agreement(const epoch_geometry& shape, std::uint64_t world_size, job_end end, all_gather ask);

  /// Ranks agree on the ends of this job's epochs; otherwise each rank knows them by itself.
  bool is_needed() const noexcept { return is_needed_; }

  /// An epoch begins: nothing about it is agreed on yet.
  void begin_epoch() noexcept { agreed_ = {}; }

  /// Whether the next batch of a job at `now` is its epoch's last. Throws `errc::empty_epoch` if
  /// ranks agree that the epoch has no batch, and `errc::worker_lost` if another rank has failed.
  [[nodiscard]] bool settle(const batch_plan& x, const job_progress& now);

private:
  bool is_asked_again(const job_progress& now) const noexcept;
  void ask(const epoch_agreement& mine);
  void decide(const std::vector<epoch_agreement>& all);

  epoch_end end_rule_;
  std::uint64_t world_size_;
  bool is_needed_;
  job_end job_;
  all_gather ask_;
  /// What ranks have agreed on about the epoch so far.
  epoch_horizon agreed_;
};

} // namespace leat
