#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/job/job_peers.hpp"
#include "runtime/job/rank_job.hpp"
#include "runtime/rows/batch_order.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace leat {

/// Where a job begins when its order is made anew: the thread of the loader says so, and whoever
/// runs the order asks.
class restart_place {
public:
  void set(rank_job job) {
    auto next = std::make_shared<const rank_job>(std::move(job));
    const mutex_lock lock{mutex_};
    job_ = std::move(next);
  }
  std::shared_ptr<const rank_job> get() const {
    const mutex_lock lock{mutex_};
    return job_;
  }

private:
  mutable mutex mutex_;
  std::shared_ptr<const rank_job> job_ LEAT_GUARDED_BY(mutex_);
};

/// The order of a rank's job, which can begin anew while slots of an earlier run are in flight:
/// every slot carries the run in which it was opened, and those that come back from an earlier run
/// are ignored.
class job_order final : public batch_order {
public:
  /// From where the job stands; anew from `again`. `peers`, if there are any, hear what it finds
  /// out about the ends of epochs, as soon as it does: batches are opened long before they are
  /// handed over.
  job_order(const rank_job& job, std::uint64_t run, std::shared_ptr<const restart_place> again,
            std::shared_ptr<call_record> calls, std::shared_ptr<job_peers> peers)
      : order_(job.make_order(calls)), run_(run), again_(std::move(again)),
        calls_(std::move(calls)), peers_(std::move(peers)) {}

  bool open(planned_batch& batch) override {
    batch.run = run_;
    const bool is_open = order_->open(batch);
    if (peers_ && is_open && batch.plan.what == batch_plan::kind::batch)
      peers_->state(batch.plan.epoch, batch.plan.horizon);
    return is_open;
  }
  void begin_epoch(std::uint64_t epoch) override { order_->begin_epoch(epoch); }
  job_position next() const noexcept override { return order_->next(); }
  epoch_horizon horizon() const override { return order_->horizon(); }
  void rewind(std::uint64_t run) override {
    order_ = again_->get()->make_order(calls_);
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
  const std::shared_ptr<const restart_place> again_;
  const std::shared_ptr<call_record> calls_;
  const std::shared_ptr<job_peers> peers_;
};

} // namespace leat
