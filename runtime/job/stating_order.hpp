#pragma once

#include "runtime/job/job_peers.hpp"
#include "runtime/rows/batch_order.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace leat {

/// An order that states to the other ranks what it finds out about the ends of epochs, as soon as
/// it does: batches are opened long before they are handed over.
class stating_order final : public batch_order {
public:
  stating_order(std::unique_ptr<batch_order> of, std::shared_ptr<job_peers> to)
      : of_(std::move(of)), to_(std::move(to)) {}

  bool open(planned_batch& batch) override {
    const bool is_open = of_->open(batch);
    if (is_open && batch.plan.what == batch_plan::kind::batch)
      to_->state(batch.plan.epoch, batch.plan.horizon);
    return is_open;
  }
  void begin_epoch(std::uint64_t epoch) override { of_->begin_epoch(epoch); }
  job_position next() const noexcept override { return of_->next(); }
  epoch_horizon horizon() const override { return of_->horizon(); }
  void rewind(std::uint64_t run) override { of_->rewind(run); }
  bool open_probe(planned_batch& probe, std::size_t most) override {
    return of_->open_probe(probe, most);
  }
  void close_probe(batch_slot& x) override { of_->close_probe(x); }
  bool open_turns(planned_batch& turns, std::size_t workers) override {
    return of_->open_turns(turns, workers);
  }
  void close_turns(batch_slot& x) override { of_->close_turns(x); }
  void wake() override { of_->wake(); }
  bool wants_to_run() const noexcept override { return of_->wants_to_run(); }
  bool wait_for_feed(const std::atomic<bool>& stop) override { return of_->wait_for_feed(stop); }

private:
  const std::unique_ptr<batch_order> of_;
  const std::shared_ptr<job_peers> to_;
};

} // namespace leat
