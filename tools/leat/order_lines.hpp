#pragma once

#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/pipeline.hpp>

#include "tools/leat/verify/log_line.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace leat::command {

/// Computes what `leat run` logs for the batches of an epoch, without making their samples; content
/// is read only where an operator of the pipeline looks at it.
class order_lines {
public:
  /// Begins at a step of the epoch. Opens the data. Throws `leat::error`, empty_epoch where the
  /// epoch has no batch, invalid_argument for an epoch that no job has.
  order_lines(const pipeline& job, std::uint64_t epoch, std::uint64_t step = 0);

  /// The global batch, over all ranks; empty after the epoch's last.
  std::optional<batch_line> next();

  const epoch_geometry& shape() const noexcept { return plan_->shape; }

private:
  static std::shared_ptr<const job_plan> plan_of(const pipeline& job);
  std::unique_ptr<batch_order> make_order(std::uint64_t step) const;
  /// False after the epoch's last batch.
  const planned_batch* open();

  std::shared_ptr<const job_plan> plan_;
  std::uint64_t epoch_;
  row_runner looks_;
  inline_order order_;
  order_cache orders_;
};

} // namespace leat::command
