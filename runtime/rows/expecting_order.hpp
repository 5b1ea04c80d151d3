#pragma once

#include "runtime/order/order_cache.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/indexed_order.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/storage/object_store.hpp"

#include <leat/stored_source.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace leat {

/// Passes on the batches of another order, and tells stores that are not local where the bytes of
/// the rows to come lie, in the order in which they are needed: of an indexed pipeline far beyond
/// the batches that are open, of others as soon as a batch or a probe is open.
class expecting_order final : public batch_order {
public:
  /// `ahead`: gives the same batches as `of`, for an indexed pipeline; null for others.
  expecting_order(std::unique_ptr<batch_order> of, std::shared_ptr<const job_plan> plan,
                  std::unique_ptr<indexed_order> ahead);
  ~expecting_order() override;

  bool open(planned_batch& batch) override;
  void begin_epoch(std::uint64_t epoch) override;
  job_position next() const noexcept override { return of_->next(); }
  epoch_horizon horizon() const override { return of_->horizon(); }
  void rewind(std::uint64_t run) override { of_->rewind(run); }
  bool open_probe(planned_batch& probe, std::size_t most) override;
  void close_probe(batch_slot& x) override { of_->close_probe(x); }
  bool open_turns(planned_batch& turns, std::size_t workers) override {
    return of_->open_turns(turns, workers);
  }
  void close_turns(batch_slot& x) override { of_->close_turns(x); }
  void wake() override { of_->wake(); }
  bool wants_to_run() const noexcept override { return of_->wants_to_run(); }
  bool wait_for_feed(const std::atomic<bool>& stop) override { return of_->wait_for_feed(stop); }

private:
  /// Rows that are known to stores and in no open batch yet: what they read ahead is bounded by
  /// their memory, this by the time that locating takes.
  static constexpr std::size_t most_rows_ahead = 4096;
  /// If no store cares about so many rows, one after the other, then it is asked of the first row
  /// of one batch in 16 alone, until one does.
  static constexpr std::size_t rows_to_find_out = 16;
  static constexpr std::uint64_t batches_to_pass = 16;

  bool nobody_listens() const noexcept { return unwanted_ >= rows_to_find_out; }
  void look_ahead(job_position from);
  void expect(std::span<const row_request> rows) noexcept;
  /// As row_runner::locate.
  stored_objects* locate(const row_request& row);
  void tell(stored_objects* to);

  std::unique_ptr<batch_order> of_;
  std::shared_ptr<const job_plan> plan_;
  std::unique_ptr<indexed_order> ahead_;
  order_cache orders_;
  planned_batch scratch_;
  std::size_t rows_ahead_ = 0;
  /// Rows since the last one that a store wanted to know of.
  std::size_t unwanted_ = 0;
  std::vector<extent> extents_;
  /// They lie in one store's objects, and are told together.
  std::vector<expected_range> ranges_;
  std::vector<stored_objects*> told_;
};

/// Tells stores where the sample lies from which a job learns its fields, and where the rank's
/// first rows do: so these are on their way meanwhile. For indexed pipelines.
void expect_first_rows(const job_plan& plan, std::uint64_t rank, std::uint64_t world_size) noexcept;

} // namespace leat
