#pragma once

#include "actors/batch_engine.hpp"
#include "actors/caller_watch.hpp"
#include "actors/lease_desk.hpp"
#include "actors/runtime_core.hpp"
#include "actors/save_queue.hpp"
#include "actors/worker_crew.hpp"
#include "runtime/base/call_record.hpp"
#include "runtime/base/step_ranges.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/job/automatic_workers.hpp"
#include "runtime/job/epoch_end_agreement.hpp"
#include "runtime/job/job_peers.hpp"
#include "runtime/job/rank_job.hpp"
#include "runtime/job/restart_place.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/loader.hpp>
#include <leat/trace.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Writes the rest of a trace. It does not wait for the last one that holds the trace: an actor
/// that has ended may do so a moment longer, and the process may end before.
class trace_end {
public:
  explicit trace_end(std::shared_ptr<trace> x) : trace_(std::move(x)) {}
  ~trace_end() {
    try {
      if (trace_)
        trace_->flush();
    } catch (...) { // no memory for a text; the file is whole without it
    }
  }
  trace_end(const trace_end&) = delete;
  trace_end& operator=(const trace_end&) = delete;

private:
  std::shared_ptr<trace> trace_;
};

/// The inside of a loader: runs one rank's job on an engine, which it starts at the first next().
/// One thread, unless a member says "any thread". Large because it has a function for each of the
/// loader's.
class loader_job final : public runtime_member {
public:
  /// `loader`: see lease_desk.
  loader_job(const pipeline& data, loader_options options, std::uint64_t loader);
  ~loader_job() override;

  const rank_job& job() const noexcept { return job_; }
  resume_point position() const;
  /// Any thread.
  loader_stats stats() const;
  /// Of these alone, at no cost: valid rows handed over, and the time that next() has waited.
  std::uint64_t samples() const noexcept { return metrics_->samples.get(); }
  std::chrono::nanoseconds waited() const noexcept { return metrics_->waits.sum(); }

  // Before the first next().
  /// The job is one of a cluster, and these are the other ranks.
  void meet(std::shared_ptr<job_peers> peers);
  resume_point restore(const std::vector<snapshot>& parts, bool complete,
                       const restore_options& options);
  std::optional<resume_point> restore(const std::string& path, const restore_options& options);
  /// From a set of a cluster: see leat::resume_at.
  void restore_at(const std::string& directory, const job_position& place, bool own_part_alone,
                  const restore_options& options);
  void seek(const job_position& to);
  void skip_batches(std::uint64_t n);
  void leave_out(const step_range& steps);
  /// At any time.
  void set_weights(const weight_change& change);
  bool has_begun() const noexcept { return engine_ != nullptr; }

  /// Its batches belong to this job.
  bool has_lent(const lease_desk* x) const noexcept { return x == desk_.get(); }
  /// Each later next() throws.
  bool has_failed() const noexcept { return failure_.has_value(); }
  /// The first place that the caller may still save: the one after the oldest batch that it holds,
  /// or the present one. With peers only.
  job_position behind();

  lease next();
  void abandon_epoch();
  void rewind();
  void resize_workers(std::size_t workers);

  /// The encoded snapshot "resume from here".
  std::string encoded() const;
  void save(const std::string& directory, snapshot part);
  void wait_saved();

  /// Ends next(), now and later: it throws `errc::interrupted`. Any thread.
  void interrupt() noexcept;

  /// As interrupt(), but next() throws `errc::shut_down`. Any thread.
  void ask_to_end() noexcept override;
  /// Ends actors and threads; leases that are out stay readable. May be called again. Any thread,
  /// once next() has been asked to end.
  void end() noexcept override;
  /// A function does not return: nothing of this may be destroyed.
  bool is_abandoned() const noexcept override { return is_abandoned_; }
  /// Ends a job that nobody needs any more, and lets go of it; one that is abandoned stays for as
  /// long as the process.
  static void end(std::shared_ptr<loader_job> job) noexcept {
    if (!job)
      return;
    job->registration_.leave(); // also where another thread still looks at it
    if (job->is_abandoned()) {
      auto& x = *job;
      x.self_ = std::move(job);
      x.abandoned_before_ = last_abandoned.exchange(&x);
    }
  }
  bool is_asked_to_end() const noexcept { return is_shut_down_; }
  /// Throws `errc::shut_down` once the runtime is.
  void check_runtime() const;

  /// False in the child of a fork, which may only read the batches that it has. Any thread.
  bool is_here() const noexcept { return home_.is_here(); }

private:
  struct handed_batch {
    /// Lives as long as somebody may save after the batch.
    std::weak_ptr<const job_progress> progress;
    job_position next;
  };

  void check_not_begun(const char* stage) const;
  /// The next batch is made anew, and so are all after it.
  void restart(rank_job from);
  /// Moves the job, which may take long. If the caller gives up, it stands where it stood.
  template <class Move>
  void run_through(const char* stage, Move move);
  /// Learns the batch's fields if they are not known, and has the caller's thread watched.
  doing look_after_caller();
  void start();
  std::shared_ptr<batch_engine> make_engine(engine_parts parts);
  actor_host& host() const;
  /// `next`, for a job that is not known to be over.
  lease next_made();
  /// And for a loader that has begun and may hand over batches.
  lease next_batch();
  /// The engine's next slot, or the one that waits.
  slot_ptr next_slot();
  /// Waits until the other ranks are as far as the batch needs.
  void wait_for_peers(slot_ptr& slot);
  lease hand_over(slot_ptr slot);
  /// Gives the job the number of workers that it needs.
  void tune_workers();
  std::size_t number_of_workers();
  /// Takes over the job's counts for stats(): they change when it moves to another place.
  void count_up();
  /// What restore() returns, once the job stands at the snapshot.
  resume_point resumed();
  /// Moves past a batch that ends its epoch.
  void end_epoch(const batch_slot& slot);
  [[noreturn]] void fail(const error& problem);

  fork_hazard alive_;
  process_mark home_;
  const std::uint64_t loader_;
  loader_options options_;
  /// Calls of the iterators, in whichever thread they run.
  std::shared_ptr<call_record> calls_ = std::make_shared<call_record>();
  caller_watch caller_;
  rank_job job_;
  std::shared_ptr<restart_place> place_ = std::make_shared<restart_place>();
  std::shared_ptr<job_peers> peers_;
  std::optional<epoch_end_agreement> ends_;
  /// The next batch, which waits for other ranks; null: none.
  slot_ptr waiting_;
  /// Batches that may still be out, in order.
  std::deque<handed_batch> handed_over_;
  /// Ends after the engine and all that it recorded.
  trace_end trace_end_{options_.trace};
  std::shared_ptr<worker_crew> crew_;
  /// How often the job was started over.
  std::uint64_t run_ = 0;
  bool ended_ = false;
  std::optional<error> failure_;
  std::shared_ptr<job_metrics> metrics_ = std::make_shared<job_metrics>();
  /// The graph that every plan of the job has; it stays, for other threads.
  std::shared_ptr<const sample_graph> samples_;
  std::shared_ptr<std::atomic<bool>> cancelled_;
  std::stop_source stop_;
  std::atomic<bool> is_shut_down_{false};
  std::atomic<bool> is_abandoned_{false};
  /// Set if the loader itself chooses the number of workers.
  std::optional<automatic_workers> automatic_;

  // Once it has begun:
  /// Guards changes of `engine_`, for other threads.
  mutable mutex engine_mutex_;
  std::shared_ptr<batch_engine> engine_;
  std::shared_ptr<lease_desk> desk_;
  save_queue saves_;
  /// Set once it is abandoned; all such jobs can be reached, so that nobody takes them for leaks.
  std::shared_ptr<loader_job> self_;
  loader_job* abandoned_before_ = nullptr;
  static inline std::atomic<loader_job*> last_abandoned{nullptr};
  /// Last: who ends the runtime uses all others.
  runtime_core::registration registration_;
};

} // namespace leat
