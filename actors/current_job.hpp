#pragma once

#include "actors/loader_job.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/loader.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace leat {

/// The job that a loader has now. Repeats for each new job what was asked of those before it: which
/// steps to leave out, and how weights change. One thread, unless a member says "any thread".
class current_job : not_copied {
public:
  explicit current_job(const pipeline& data);
  ~current_job() { end(); }

  const loader_mark& mark() const noexcept { return mark_; }
  bool exists() const noexcept { return job_ != nullptr; }
  /// Throws `errc::interrupted` where there is none: the wait for a seat was interrupted.
  loader_job& get() const;
  /// Ends the job that there is, and makes another one.
  void make(const loader_options& options);
  void end() noexcept { replace(nullptr); }
  void leave_out(const step_range& steps);
  void set_weights(const weight_change& x);
  /// Throws `errc::shut_down` once the runtime is.
  void check_runtime() const;
  /// It was asked to end: by interrupt(), or by the end of the runtime.
  bool is_interrupted() const noexcept;

  // Any thread:
  loader_stats stats() const;
  void interrupt() noexcept;

private:
  std::shared_ptr<loader_job> shared() const;
  void replace(std::shared_ptr<loader_job> by) noexcept;

  const loader_mark mark_;
  const pipeline data_;
  std::vector<step_range> left_out_;
  std::vector<weight_change> weights_;
  /// Guards changes of `job_`, for other threads.
  mutable mutex mutex_;
  std::shared_ptr<loader_job> job_;
  std::atomic<bool> is_interrupted_{false};
};

} // namespace leat
