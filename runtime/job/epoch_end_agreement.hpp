#pragma once

#include "runtime/job/job_peers.hpp"
#include "runtime/job/job_progress.hpp"
#include "runtime/order/order.hpp"
#include "runtime/rows/row_request.hpp"

#include <leat/epoch_agreement.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace leat {

/// Gives every rank what all ranks said, in the order of ranks.
using all_gather = std::function<std::vector<epoch_agreement>(const epoch_agreement&)>;

/// Agrees with the other ranks of a job on the end of an epoch whose length is unknown. All ranks
/// ask at the same batches: at the first one, and then at the last that they have agreed on, until
/// that is final.
class epoch_end_agreement {
public:
  epoch_end_agreement(const epoch_geometry& shape, std::uint64_t world_size, all_gather ask);
  /// Ranks hear of one another: nobody asks.
  epoch_end_agreement(const epoch_geometry& shape, std::uint64_t world_size,
                      std::shared_ptr<job_peers> peers);

  /// Ranks agree on the ends of this job's epochs; otherwise each rank knows them by itself.
  bool is_needed() const noexcept { return is_needed_; }

  /// An epoch begins: nothing about it is agreed on yet.
  void begin_epoch() noexcept { agreed_ = {}; }

  /// Whether the next batch of a job at `now` is its epoch's last. Throws `errc::empty_epoch` if
  /// ranks agree that the epoch has no batch, and `errc::worker_lost` if another rank has failed.
  /// A failure in place of that batch is passed on if ranks ask at it. It is not held back until
  /// they ask again: they may be waiting for this rank elsewhere, where their gradients meet. With
  /// peers: throws patience_ended, and may then be called again.
  [[nodiscard]] bool settle(const batch_plan& x, const job_progress& now);

private:
  void ask(const epoch_agreement& mine);
  void decide(const std::vector<epoch_agreement>& all);

  epoch_end end_rule_;
  std::uint64_t world_size_;
  bool is_needed_;
  all_gather ask_;
  /// Null: by `ask_`.
  std::shared_ptr<job_peers> peers_;
  /// What ranks have agreed on about the epoch so far.
  epoch_horizon agreed_;
};

} // namespace leat
