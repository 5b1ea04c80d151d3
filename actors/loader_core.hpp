#pragma once

#include "actors/caller_watch.hpp"
#include "actors/checkpoint.hpp"
#include "actors/pipeline.hpp"
#include "runtime/base/call_record.hpp"
#include "runtime/base/fork_check.hpp"
#include "runtime/base/handoff.hpp"
#include "runtime/base/log_lines.hpp"
#include "runtime/base/step_ranges.hpp"
#include "runtime/job/bad_sample_log.hpp"
#include "runtime/job/record_release.hpp"
#include "runtime/order/lane_state.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/dealer.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/row_function.hpp"
#include "runtime/rows/row_plan.hpp"
#include "runtime/rows/worker_board.hpp"
#include "runtime/snapshot/snapshot.hpp"

#include <leat/loader.hpp>

#include <caf/actor_system.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// How saves in the background went: counts those on their way, keeps the first error.
class save_tracker {
public:
  /// Waits until fewer than two saves are on their way, then counts one more.
  void begin();
  void end(std::optional<error> problem);
  void wait_for_all();
  /// Throws the error of an earlier save, once.
  void check();

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t on_their_way_ = 0;
  std::optional<error> problem_;
};

/// The inside of a loader: starts its actors at the first next(), turns finished slots into leases,
/// keeps the running sums. Leases share it, so that it outlives them.
class loader_core : public std::enable_shared_from_this<loader_core> {
public:
  loader_core(const pipeline& data, loader_options options);
  ~loader_core();
  loader_core(const loader_core&) = delete;
  loader_core& operator=(const loader_core&) = delete;

  // The trainer's thread.
  lease next();
  std::optional<std::uint64_t> batches_per_epoch() const;
  void abandon_epoch();
  void rewind();
  void leave_out(const step_range& steps);
  resume_point restore(const std::vector<snapshot>& parts, bool complete,
                       const restore_options& options);
  std::optional<resume_point> restore(const std::string& directory, const restore_options& options);
  void seek(const job_position& to);
  void skip_first_batches(std::uint64_t n);
  void save(const std::string& directory, snapshot part);
  void keep(const std::vector<snapshot>& parts);
  void let_go(const std::vector<snapshot>& parts);
  void wait_saved();
  void resize_workers(std::size_t workers);
  loader_stats stats() const;
  /// "Resume from here." Throws `errc::invalid_argument` where records exist once and are kept
  /// nowhere.
  snapshot state() const;
  std::string encoded_state() const;
  bool can_snapshot() const noexcept;
  resume_point position() const;
  /// What begins a log here.
  attempt_start attempt() const;
  /// Ends actors and threads; leases that are out stay readable.
  void shutdown() noexcept;

  // Any thread.
  /// "Resume after this batch."
  snapshot state_after(const batch& x) const;
  std::string encoded_state_after(const batch& x) const;
  void give_back(std::shared_ptr<batch_slot> slot) noexcept;
  /// Of a row's sample, as delivered.
  std::string id_of(const batch_slot& slot, std::size_t row) const;
  bool hashes_pixels() const noexcept { return plan_->hash_pixels; }
  std::uint64_t rank() const noexcept { return options_.rank; }
  std::uint64_t world_size() const noexcept { return options_.world_size; }
  /// False in the child of a fork, which may only read the batches that it has.
  bool is_here() const noexcept { return home_.is_here(); }
  /// Keeps what a child has of a core for ever: it cannot end what it did not begin.
  static void leave_to_parent(std::shared_ptr<loader_core> core) noexcept;
  /// Throws `errc::invalid_argument` there.
  void check_here() const;

private:
  bool inline_mode() const noexcept { return options_.workers == 0; }
  std::size_t prefetch_depth() const noexcept;
  void start();
  void start_checkpoint();
  void learn_first_layout(row_plan plan);
  worker_config make_worker(std::size_t number, bool replaces);
  void add_slot();
  /// The next finished slot. Throws `errc::stuck`.
  slot_ptr wait_for_slot();
  slot_ptr run_inline();
  std::unique_ptr<batch_order> make_order();
  /// The same, to be begun anew at any time.
  std::unique_ptr<batch_order> make_rewindable_order();
  /// Of an earlier run.
  bool is_stale(const batch_slot& slot) const noexcept;
  void start_inline(std::unique_ptr<batch_order> order);
  void start_actors(std::unique_ptr<batch_order> order);
  /// `next` of a loader that has begun and may hand over.
  lease next_batch();
  slot_ptr next_slot();
  /// Finds out whether the batch is its epoch's last.
  void settle(batch_slot& slot);
  bool is_asked_again() const noexcept;
  void agree(const epoch_agreement& mine);
  /// What is made ahead goes on with this epoch.
  void tell_epoch(std::uint64_t epoch);
  void recycle(slot_ptr slot);
  void learn_layout();
  lane_states lanes_of_parts(const char* stage, const snapshot& merged, std::size_t parts,
                             std::uint64_t first, std::uint64_t step) const;
  lane_states own_lanes(const char* stage, const snapshot& merged, std::size_t parts) const;
  /// Fields of a batch of a pipeline with a once source, which are learned once and kept.
  struct once_fields {
    /// Of a snapshot; empty: to be learned at `learn_at`.
    std::vector<field_layout> known = {};
    job_position learn_at = {};
    lane_states learn_lanes = {};
  };
  std::shared_ptr<const lane_states> restored_lanes(const snapshot& merged, std::size_t parts,
                                                    const job_position& next) const;
  once_fields restored_fields(const snapshot& merged, std::size_t parts,
                              const job_position& next) const;
  std::uint64_t batches_left() const noexcept;
  /// The loader stands behind the slot's batch, handed over or left out.
  void go_behind(const batch_slot& slot);
  /// Runs through the next n batches of an order that is no formula, without making samples.
  void pass_over(std::uint64_t n);
  lease hand_over(slot_ptr slot);
  [[noreturn]] void fail(const error& problem);
  /// Throws where the loader can no longer be moved.
  void check_not_begun(const char* stage) const;
  error stuck_error(const worker_record& record) const;
  /// Throws `errc::stuck` where a worker or the programs have not returned in time.
  void check_not_stuck(call_watch& programs);
  /// Of a snapshot without facts and lanes.
  std::string encode(const snapshot& x, const std::shared_ptr<const lane_states>& lanes) const;
  snapshot make_snapshot(pipeline_facts facts, const job_position& next, std::uint64_t global_step,
                         const handed_over& sums, std::uint64_t began,
                         const std::shared_ptr<const lane_states>& lanes) const;
  bool has_started() const noexcept { return order_.has_value() || actors_.batcher != nullptr; }

  process_mark home_;
  loader_options options_;
  /// Of the programs, in whichever thread they run.
  std::shared_ptr<call_record> calls_ = std::make_shared<call_record>();
  caller_watch caller_;
  std::shared_ptr<const row_plan> plan_;
  pipeline_facts facts_;
  snapshot_encoder encode_{{}};
  std::shared_ptr<record_release> records_;
  once_fields fields_;

  // Where the job stands: behind the last batch handed over.
  job_position next_;
  std::uint64_t global_step_ = 0;
  /// Where the ranks' sums were last put together: see snapshot::began.
  std::uint64_t began_ = 0;
  handed_over sums_;
  /// State of the lanes there; null at the beginning of an epoch, and where the order is a formula.
  std::shared_ptr<const lane_states> lanes_;
  step_set left_out_;
  /// Those that the caller named, whatever is restored.
  std::vector<step_range> asked_to_leave_out_;
  /// Of the epoch, as far as ranks have agreed.
  epoch_horizon agreed_;
  bool ended_ = false;
  /// Behind a snapshot.
  bool is_resumed_ = false;
  hash128 data_digest_;
  /// How often the job was begun anew.
  std::uint64_t run_ = 0;
  std::optional<error> failure_;
  bad_sample_log bad_log_;
  std::uint64_t batches_ = 0;
  std::uint64_t samples_ = 0;
  std::chrono::nanoseconds waited_{0};

  // Slots.
  std::size_t rows_per_batch_ = 0;
  /// Batches made ahead of the one in use.
  std::size_t ahead_ = 1;
  std::size_t slots_ = 0;
  std::atomic<std::size_t> leases_out_{0};
  handoff<slot_ptr> ready_;

  // Actors. Handles are guarded: leases give back from any thread.
  mutable std::mutex actors_mutex_;
  /// Set once there is any actor.
  caf::actor_system* system_ = nullptr;
  pipeline_actors actors_;
  checkpoint_actor checkpoint_;
  std::shared_ptr<life_count> lives_ = std::make_shared<life_count>();
  worker_board board_;
  std::atomic<std::uint64_t> replaced_{0};
  /// Workers of each number that there have been; for the dispatcher, who makes them.
  std::map<std::size_t, std::size_t> lives_begun_;
  std::shared_ptr<save_tracker> saves_ = std::make_shared<save_tracker>();

  // Without workers.
  std::optional<inline_order> order_;
  std::optional<worker_state> self_worker_;
  std::mutex free_mutex_;
  std::vector<slot_ptr> free_;
};

} // namespace leat
