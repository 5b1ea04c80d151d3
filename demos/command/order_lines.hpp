#pragma once

#include "demos/command/log_line.hpp"
#include "runtime/row_plan.hpp"

#include <leat/pipeline.hpp>

#include <cstdint>
#include <string>

namespace leat::command {

/// The global batches of one epoch as log lines, computed without reading samples.
class order_lines {
public:
  /// Throws `errc::empty_epoch` when the epoch has no batch, and what opening the data throws.
  order_lines(const pipeline& job, std::uint64_t epoch);

  /// Number of batches.
  std::uint64_t steps() const noexcept { return plan_.shape.batches(); }
  /// A batch; `step` is below steps(). Under mask existing rows only.
  batch_line line(std::uint64_t step);

private:
  epoch_plan plan_;
  order_cache orders_;
  std::uint64_t epoch_;
};

} // namespace leat::command
