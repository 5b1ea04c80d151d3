#pragma once

#include "actors/batch_engine.hpp"
#include "actors/caller_watch.hpp"
#include "actors/slot_pool.hpp"
#include "runtime/rows/inline_order.hpp"

#include <optional>

namespace leat {

/// Makes each batch when it is asked for, in the caller's own thread.
class inline_engine final : public batch_engine {
public:
  /// From now on `watch` watches the caller's thread.
  inline_engine(engine_parts parts, caller_watch& watch);

  void make_room(std::size_t leases) override;
  slot_ptr next() override;
  void recycle(slot_ptr slot) override;
  void begin_epoch(std::uint64_t epoch) override { order_->begin_epoch(epoch); }
  void rewind(std::uint64_t run) override;
  void resize(std::size_t) override {}
  /// A wait in the caller's thread is one for a source, which is woken elsewhere.
  void interrupt() noexcept override {}
  bool shutdown() noexcept override { return true; }

private:
  void make_rows();
  /// The order was asked for a batch.
  void note_dealt(std::int64_t begin_ns, std::int64_t end_ns) noexcept;

  const std::shared_ptr<job_metrics> metrics_;
  slot_pool slots_;
  /// The batch that a caller has not waited for to its end, and how many of its rows are made.
  slot_ptr begun_;
  std::size_t made_ = 0;
  /// After the slots: where a device writes to them, its end waits for that.
  row_worker worker_;
  /// Runs probes with `worker_`.
  std::optional<inline_order> order_;
};

} // namespace leat
