#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/row_runner.hpp"

#include <memory>

namespace leat {

/// Throws `errc::interrupted`.
[[noreturn]] void throw_interrupted();

/// Opens batches in one thread: probes items itself when iterators ask for it.
class inline_order {
public:
  /// `function` runs probes; it must outlive this.
  inline_order(std::unique_ptr<batch_order> order, row_runner& function);

  /// The next batch, valid until the next call; blocks for once sources. Throws patience_ended, and
  /// may then be called again.
  const planned_batch& next();
  /// Opens the slot as the next batch.
  void open(batch_slot& slot);
  void begin_epoch(std::uint64_t epoch) { order_->begin_epoch(epoch); }
  void rewind(std::uint64_t run) { order_->rewind(run); }

private:
  /// Throws if the caller waits no longer, or the job was interrupted.
  void check_caller() const;
  bool probe_items();
  void probe();

  std::unique_ptr<batch_order> order_;
  row_runner& function_;
  /// The next batch, and memory that earlier ones used.
  planned_batch next_;
  planned_batch next_probe_;
  batch_slot probe_;
};

} // namespace leat
