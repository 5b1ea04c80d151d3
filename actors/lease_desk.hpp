#pragma once

#include "actors/batch_engine.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/job/rank_job.hpp"
#include "runtime/rows/job_metrics.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace leat {

/// Keeps an object for ever.
template <class T>
void leave_to_parent(std::shared_ptr<T> x) noexcept {
  [[maybe_unused]] const auto* left = new (std::nothrow) std::shared_ptr{std::move(x)};
}

/// Names a loader by its process and its number there, which is the same in all terms of a cluster.
struct loader_mark {
  process_mark home = {};
  std::uint64_t number = 0;
};

/// What a loader shares with its leases, which may outlive it. Any thread.
class lease_desk : public std::enable_shared_from_this<lease_desk> {
public:
  /// `job`: the rank's job at its beginning. What snapshots say of it does not change later, except
  /// for changes of weights.
  lease_desk(std::shared_ptr<batch_engine> engine, rank_job job,
             std::shared_ptr<job_metrics> metrics, const loader_mark& loader)
      : engine_(std::move(engine)), job_(std::move(job)), metrics_(std::move(metrics)),
        loader_(loader), changes_(job_.weights.all()) {}

  const rank_job& job() const noexcept { return job_; }
  const loader_mark& loader() const noexcept { return loader_; }
  /// The encoded snapshot "resume from there".
  std::string encoded_at(const job_progress& x) const {
    auto bytes = job_.encoded_at(x, changes());
    metrics_->snapshot_bytes.set(bytes.size());
    return bytes;
  }
  /// Later snapshots state these changes, those of batches that are still out included.
  void change_weights(weight_phases x) {
    const mutex_lock lock{mutex_};
    changes_ = std::move(x);
  }
  std::size_t leases_out() const noexcept { return leases_out_.load(); }
  void lend() noexcept { leases_out_.fetch_add(1); }
  /// Takes back the slot of a lease that has ended. In the child of a fork, which cannot end what
  /// it did not begin, keeps everything for ever.
  void give_back(slot_ptr slot) noexcept {
    if (!loader_.home.is_here())
      return leave_to_parent(shared_from_this());
    engine_->recycle(std::move(slot));
    // Last: once the lease counts as ended, next() relies on its slot.
    leases_out_.fetch_sub(1);
  }

private:
  weight_phases changes() const {
    const mutex_lock lock{mutex_};
    return changes_;
  }

  const std::shared_ptr<batch_engine> engine_;
  const rank_job job_;
  const std::shared_ptr<job_metrics> metrics_;
  const loader_mark loader_;
  mutable mutex mutex_;
  weight_phases changes_ LEAT_GUARDED_BY(mutex_);
  std::atomic<std::size_t> leases_out_{0};
};

} // namespace leat
