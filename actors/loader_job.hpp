#pragma once

#include "actors/job_engine.hpp"
#include "actors/lease_desk.hpp"
#include "runtime/base/call_record.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/cluster/member.hpp"
#include "runtime/job/epoch_end_agreement.hpp"
#include "runtime/job/job_order.hpp"
#include "runtime/job/job_peers.hpp"
#include "runtime/job/rank_job.hpp"
#include "runtime/job/starting_point.hpp"

#include <leat/loader.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// The inside of a loader: runs one rank's job on an engine, which it starts at the first next().
/// One thread, unless a member says "any thread". Large because each call must find the job, what
/// was made ahead of it and what ranks have agreed on in step.
class loader_job {
public:
  loader_job(const pipeline& data, loader_options options, const loader_mark& loader);
  ~loader_job();
  loader_job(const loader_job&) = delete;
  loader_job& operator=(const loader_job&) = delete;

  const rank_job& job() const noexcept { return job_; }
  /// The desk of its batches; null before the first next().
  const lease_desk* desk() const noexcept { return desk_.get(); }
  /// Each later next() throws.
  bool has_failed() const noexcept { return failure_.has_value(); }
  job_engine& engine() noexcept { return engine_; }
  /// Any thread.
  loader_stats stats() const;

  // Before the first next(); later they throw `errc::invalid_argument` that names `stage`.
  rank_job& job_to_begin(const char* stage);
  /// The job is one of a cluster, and these are the other ranks.
  void meet(std::shared_ptr<job_peers> peers);
  /// Resumes the job by `how`; nothing if that finds nothing to resume from.
  std::optional<resume_point> restore(const std::function<bool(rank_job&)>& how);
  /// Moves the job, which may take long. If the caller gives up, it stands where it stood.
  using job_move = std::function<void(rank_job&, epoch_end_agreement&, const prepare_caller&)>;
  void move(const char* stage, const job_move& how);

  void set_weights(const weight_change& change);
  lease next();
  void abandon_epoch();
  void rewind();
  void resize_workers(std::size_t workers);

  /// Who makes its rows now.
  maker_note makers() const;
  /// The encoded snapshot "resume from here".
  std::string encoded() const;
  void save(const std::string& directory, snapshot part);
  void wait_saved();

private:
  /// Makes the next batch, and all after it, once more.
  void restart(rank_job from);
  /// Learns the batch's fields if they are not known, and has the caller's thread watched.
  doing look_after_caller();
  void start();
  /// next(), for a job that is not known to be over.
  lease next_made();
  /// next_made(), for a loader that has begun and may hand over batches.
  lease next_batch();
  /// Waits until the other ranks are as far as the batch needs.
  void wait_for_peers(slot_ptr& slot);
  lease hand_over(slot_ptr slot);
  /// Moves past a batch that ends its epoch.
  void end_epoch(const batch_slot& slot);
  /// Copies the job's counts for stats(): they change when the job moves to another place.
  void count_up();
  [[noreturn]] void fail(const error& problem);

  fork_hazard alive_;
  const pipeline data_;
  const loader_mark loader_;
  loader_options options_;
  job_engine engine_;
  /// Calls of the iterators, in whichever thread they run.
  std::shared_ptr<call_record> calls_ = std::make_shared<call_record>();
  rank_job job_;
  std::shared_ptr<restart_place> place_ = std::make_shared<restart_place>();
  std::shared_ptr<job_peers> peers_;
  /// For stats(): null without helpers.
  mutable mutex lender_mutex_;
  std::shared_ptr<row_lender> lender_ LEAT_GUARDED_BY(lender_mutex_);
  /// Where helpers join.
  std::string workers_at_ LEAT_GUARDED_BY(lender_mutex_);
  std::optional<epoch_end_agreement> ends_;
  /// The next batch, which waits for other ranks; null: none.
  slot_ptr waiting_;
  /// How often the job was started over.
  std::uint64_t run_ = 0;
  bool ended_ = false;
  std::optional<error> failure_;
  std::shared_ptr<lease_desk> desk_;
};

} // namespace leat
