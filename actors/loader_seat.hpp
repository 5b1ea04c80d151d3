#pragma once

#include "actors/cluster/cluster_rank.hpp"
#include "actors/loader_job.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/loader.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// What a loader is made of: its job, which in a cluster begins anew with each seat that its
/// process takes, as it would in a new process. One thread, unless a member says "any thread".
/// Large because it stands between each of a loader's functions and the cluster.
class loader_seat {
public:
  loader_seat(const pipeline& data, loader_options options);
  ~loader_seat();
  loader_seat(const loader_seat&) = delete;
  loader_seat& operator=(const loader_seat&) = delete;

  bool is_here() const noexcept { return home_.is_here(); }
  /// The number of the loader in its process: see lease_desk.
  std::uint64_t number() const noexcept { return number_; }
  /// Throws `errc::shut_down` once the runtime is.
  void check_runtime() const;
  /// The job; throws `errc::interrupted` where the wait for a seat was interrupted.
  loader_job& job() const;
  /// The job, for what moves a job of one process. Throws `errc::invalid_argument` in a cluster.
  loader_job& lone_job(const char* stage) const;

  /// Joins the cluster, if there is one, and takes a seat.
  void join();
  std::optional<resume_point> restore(const std::string& path, const restore_options& options);
  void resume_at(std::uint64_t global_step);
  bool has_come_back() const noexcept { return must_resume_ && has_seat_; }
  std::uint64_t cluster_term() const noexcept { return has_seat_ ? cluster_->term() : 0; }
  void leave_out(const step_range& steps);
  void set_weights(const std::vector<double>& weights, std::optional<std::uint64_t> from);
  lease next();
  /// `of`: the desk of the batch after which it saves; null: the present position.
  void save(const std::string& directory, const job_progress& at, const lease_desk* of);
  /// The encoded snapshot after a batch of this loader.
  std::string snapshot_after(const job_progress& at, const lease_desk& of) const;
  void wait_saved();
  void finish();

  /// How a log of this rank begins; nothing if the job was over before this process came.
  std::optional<attempt_start> attempt() const;

  /// Any thread.
  loader_stats stats() const;
  void interrupt() noexcept;

private:
  std::shared_ptr<loader_job> shared_job() const;
  std::shared_ptr<loader_job> make_job();
  void replace_job(std::shared_ptr<loader_job> by) noexcept;
  /// Takes a seat, and moves the job to where it begins.
  void sit();
  void stand_at(const cluster_seat& seat);
  /// Waits for a new seat, then throws `errc::regrouped`, or `errc::cluster` if there is none.
  [[noreturn]] void regroup();
  [[noreturn]] void end_without_seat();
  template <class Wait>
  void wait_in_seat(Wait wait);
  /// Each later next() throws it.
  [[noreturn]] void fail(const error& problem);
  /// For a loader that has joined.
  lease next_batch();
  lease next_in_seat();
  /// Says what nobody has asked for.
  void tell_not_stored() const;
  /// Lets journals forget what no stored set needs.
  void hear_stored();

  const process_mark home_;
  const std::uint64_t number_;
  const pipeline data_;
  /// Rank and world size are those of the seat.
  loader_options options_;
  /// In a cluster: what the user is asked while the loader waits.
  std::function<bool()> asked_;
  restore_options restore_options_;
  /// Where the job's sets are kept, and where it wants to begin; empty: nowhere.
  std::string sets_;
  std::optional<job_position> wanted_start_;
  std::vector<step_range> left_out_;
  std::vector<weight_change> weights_;

  /// Null before it has joined, and without a cluster.
  std::shared_ptr<cluster_rank> cluster_;
  bool has_seat_ = false;
  /// It had one already.
  bool has_joined_ = false;
  /// The job was restored, or has begun.
  bool has_moved_ = false;
  /// The job was over before this process had a seat.
  bool is_over_ = false;
  /// The trainer has had all batches.
  bool has_ended_ = false;
  /// The trainer must say where it goes on.
  bool must_resume_ = false;
  /// It has: where its rank was lost, if others went on.
  bool has_resumed_ = false;
  std::optional<error> failure_;
  /// Sets that are known to be stored, for journals.
  std::vector<job_position> stored_;

  /// Guards changes of `job_`, for other threads.
  mutable mutex mutex_;
  std::shared_ptr<loader_job> job_;
  std::atomic<bool> is_interrupted_{false};
};

} // namespace leat
