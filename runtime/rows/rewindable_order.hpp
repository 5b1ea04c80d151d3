#pragma once

#include "runtime/rows/batch_order.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace leat {

/// An order that can start its job over while slots of an earlier run are in flight: every slot
/// carries the run in which it was opened, and those that come back from an earlier run are
/// ignored.
class rewindable_order final : public batch_order {
public:
  /// `anew` makes an order that begins at the job's first batch. Called in the thread of `rewind`.
  rewindable_order(std::unique_ptr<batch_order> first, std::uint64_t run,
                   std::function<std::unique_ptr<batch_order>()> anew)
      : order_(std::move(first)), run_(run), anew_(std::move(anew)) {}

  bool open(planned_batch& batch) override {
    batch.run = run_;
    return order_->open(batch);
  }
  void begin_epoch(std::uint64_t epoch) override { order_->begin_epoch(epoch); }
  job_position next() const noexcept override { return order_->next(); }
  epoch_horizon horizon() const override { return order_->horizon(); }
  void rewind(std::uint64_t run) override {
    order_ = anew_();
    run_ = run;
  }
  bool open_probe(planned_batch& probe, std::size_t most) override {
    probe.run = run_;
    return order_->open_probe(probe, most);
  }
  void close_probe(batch_slot& slot) override {
    if (slot.run() == run_)
      order_->close_probe(slot);
  }
  bool open_turns(planned_batch& turns, std::size_t workers) override {
    turns.run = run_;
    return order_->open_turns(turns, workers);
  }
  void close_turns(batch_slot& slot) override {
    if (slot.run() == run_)
      order_->close_turns(slot);
  }
  void wake() override { order_->wake(); }
  bool wants_to_run() const noexcept override { return order_->wants_to_run(); }
  bool wait_for_feed(const std::atomic<bool>& stop) override { return order_->wait_for_feed(stop); }

private:
  std::unique_ptr<batch_order> order_;
  std::uint64_t run_;
  std::function<std::unique_ptr<batch_order>()> anew_;
};

} // namespace leat
