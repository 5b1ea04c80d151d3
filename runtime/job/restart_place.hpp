#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/job/rank_job.hpp"

#include <memory>

namespace leat {

/// Where a job begins when its order is made anew: the thread of the loader says so, and that of
/// the iterators asks.
class restart_place {
public:
  void set(rank_job job);
  std::unique_ptr<batch_order> make_order(const std::shared_ptr<call_record>& calls) const;

private:
  mutable mutex mutex_;
  std::shared_ptr<const rank_job> job_ LEAT_GUARDED_BY(mutex_);
};

/// The batches from where the job stands, in an order that can be made anew at any time; `run`
/// counts how often it was.
std::unique_ptr<batch_order> restartable_order(const rank_job& job,
                                               std::shared_ptr<const restart_place> place,
                                               const std::shared_ptr<call_record>& calls,
                                               std::uint64_t run);

/// The job at its beginning.
rank_job at_beginning(const rank_job& job);
/// The job where it stands, as after a restore from there: nothing of what was made ahead is left.
/// Throws `errc::invalid_argument` unless snapshots can be taken of it.
rank_job as_restored(const rank_job& job);

} // namespace leat
