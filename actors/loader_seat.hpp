#pragma once

#include "actors/loader_job.hpp"
#include "runtime/base/log_lines.hpp"
#include "runtime/base/step_ranges.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/loader.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// What a seat in a cluster is like.
struct seat_facts {
  /// 0: none.
  std::uint64_t term = 0;
  /// The others continued while the rank was lost, and the trainer has not said where it resumes.
  bool has_come_back = false;
  /// It has.
  bool has_resumed = false;
  /// The job was over before this process had a seat.
  bool is_over = false;
};

/// A loader's place among the ranks of its job: makes the job, and says when it may begin, hand
/// over, save and end. This one is alone, and says yes; in a cluster there is `shared_seat`. One
/// thread, unless a member says "any thread". Large because what a job made anew must know is kept
/// where it is made, and each call of a loader may make it anew.
class loader_seat {
public:
  loader_seat(const pipeline& data, loader_options options);
  virtual ~loader_seat() { end_job(); }
  loader_seat(const loader_seat&) = delete;
  loader_seat& operator=(const loader_seat&) = delete;

  const loader_mark& mark() const noexcept { return mark_; }
  /// Throws `errc::interrupted` where the wait for a seat was interrupted.
  loader_job& job() const;
  /// Throws `errc::shut_down` once the runtime is.
  void check_runtime() const;
  /// Throws `errc::invalid_argument` in a cluster, for what moves a job of one process.
  void check_alone(const char* stage) const;
  /// Throws `errc::invalid_argument` for a batch of another job.
  void check_lent(const char* stage, const job_progress& at, const lease_desk& of) const;
  /// Also of all jobs that are made later.
  void leave_out(const step_range& steps);
  void set_weights(const std::vector<double>& weights, std::optional<std::uint64_t> from);

  /// How a log of this rank begins; nothing if the job was over before this process came.
  std::optional<attempt_start> attempt() const;

  /// The first call: opens the data.
  virtual void begin() { make_job(); }
  virtual void join() {}
  virtual std::optional<resume_point> restore(const std::string& path,
                                              const restore_options& options);
  virtual void resume_at(std::uint64_t global_step);
  virtual seat_facts facts() const noexcept { return {}; }
  virtual lease next() { return job().next(); }
  virtual void save(const std::string& directory, const job_progress& at);
  virtual void wait_saved() { job().wait_saved(); }
  virtual void finish() { wait_saved(); }

  /// Any thread.
  loader_stats stats() const;
  void interrupt() noexcept;

protected:
  /// All that was made before has ended.
  void make_job();
  void end_job() noexcept { replace_job(nullptr); }
  bool has_job() const noexcept { return job_ != nullptr; }
  /// Asked to end: by interrupt(), or by the end of the runtime.
  bool is_interrupted() const noexcept;

  /// Rank and world size are those of the seat.
  loader_options options_;

private:
  std::shared_ptr<loader_job> shared_job() const;
  void replace_job(std::shared_ptr<loader_job> by) noexcept;

  const loader_mark mark_;
  const pipeline data_;
  std::vector<step_range> left_out_;
  std::vector<weight_change> weights_;
  /// Guards changes of `job_`, for other threads.
  mutable mutex mutex_;
  std::shared_ptr<loader_job> job_;
  std::atomic<bool> is_interrupted_{false};
};

/// For a loader with these options. Opens the data.
std::unique_ptr<loader_seat> make_seat(const pipeline& data, loader_options options);

} // namespace leat
