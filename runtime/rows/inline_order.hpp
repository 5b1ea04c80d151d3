#pragma once

#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/row_runner.hpp"

#include <memory>

namespace leat {

/// Throws `errc::interrupted`.
[[noreturn]] void throw_interrupted();

/// For a caller who makes rows itself: a function that it has interrupted ends the call at once,
/// and not when all other rows are done. Throws what ended one of these rows.
void throw_interruption(const batch_slot& of, std::size_t first, std::size_t end);

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
  void rewind(std::uint64_t run);

private:
  /// Throws if the caller waits no longer, or the job was interrupted.
  void check_caller() const;
  bool probe_items();
  void probe();
  void probe_one();
  void end_probe();

  std::unique_ptr<batch_order> order_;
  row_runner& function_;
  /// The next batch, and memory that earlier ones used.
  planned_batch next_;
  planned_batch next_probe_;
  batch_slot probe_;
  /// A caller may not have waited for it to its end: how many of its items are done.
  bool has_begun_probe_ = false;
  std::size_t probed_ = 0;
};

} // namespace leat
