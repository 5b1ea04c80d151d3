#pragma once

#include "runtime/base/call_record.hpp"
#include "runtime/base/mutex.hpp"
#include "runtime/base/watch_thread.hpp"
#include "runtime/base/worker_record.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace leat {

/// Looks after functions that run in the caller's own thread, which no error can reach while they
/// do: those of the first sample, and all of a loader without workers. Tells of one that does not
/// return, from another thread; of nothing where the machine gives no thread for it.
class caller_watch {
public:
  /// `limit` 0: never. `tell` is called again each time that the limit passes; empty: a notice, as
  /// where it throws.
  caller_watch(std::chrono::milliseconds limit, std::function<void(const error&)> tell);
  caller_watch(const caller_watch&) = delete;
  caller_watch& operator=(const caller_watch&) = delete;

  /// From now on the caller's thread makes rows of this plan, as the two records say.
  void look_at(std::shared_ptr<const job_plan> plan, const doing& records);
  /// It makes none any more.
  void look_away();

private:
  void look();
  void say(const error& problem) const;

  const std::chrono::milliseconds limit_;
  const std::function<void(const error&)> tell_;
  mutex mutex_;
  std::shared_ptr<const job_plan> plan_ LEAT_GUARDED_BY(mutex_);
  doing records_ LEAT_GUARDED_BY(mutex_);
  call_watch calls_ LEAT_GUARDED_BY(mutex_);
  /// Last: it calls look().
  watch_thread::registration registration_;
};

} // namespace leat
