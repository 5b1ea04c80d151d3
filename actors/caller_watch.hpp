#pragma once

#include "runtime/base/call_record.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/threads/watch_thread.hpp"
#include "runtime/base/worker_record.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace leat {

/// Watches functions that run in the caller's own thread, which cannot throw an error while they
/// run: those of the first sample, and all functions of a loader without workers. Reports a
/// function that does not return, from another thread; reports nothing if the machine has no thread
/// for that.
class caller_watch : not_copied {
public:
  /// With `limit` 0 nothing is reported. `tell` is called again each time that the limit passes; if
  /// it is empty, or throws, a notice is sent.
  caller_watch(std::chrono::milliseconds limit, std::function<void(const error&)> tell);

  /// From now on the caller's thread makes rows of this plan; the two records say what it does.
  void look_at(std::shared_ptr<const job_plan> plan, const doing& records);
  /// The caller's thread makes no rows any more.
  void look_away();
  /// Like look_away(), but for good. Any thread.
  void end();

private:
  void look();
  void say(const error& problem) const;

  const std::chrono::milliseconds limit_;
  const std::function<void(const error&)> tell_;
  mutex mutex_;
  std::shared_ptr<const job_plan> plan_ LEAT_GUARDED_BY(mutex_);
  doing records_ LEAT_GUARDED_BY(mutex_);
  call_watch calls_ LEAT_GUARDED_BY(mutex_);
  bool ended_ LEAT_GUARDED_BY(mutex_) = false;
  /// Last: it calls look().
  watch_thread::registration registration_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
