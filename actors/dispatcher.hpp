#pragma once

#include "actors/caf/own_thread.hpp"
#include "actors/caf/watched_actor.hpp"
#include "actors/feed_watch.hpp"
#include "actors/prepared_exit.hpp"
#include "actors/worker.hpp"
#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/base/threads/listener.hpp"
#include "runtime/lending/row_lender.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/in_flight.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/row_assignment.hpp"

#include <caf/actor_addr.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/system_messages.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

struct dispatcher_config {
  std::shared_ptr<batch_order> order;
  row_assignment policy;
  /// Number of items that are probed together.
  std::size_t rows_a_probe = 1;
  /// Lanes of the rank, at most.
  std::size_t lanes = 1;
  /// Sources that exist once and that iterators wait for.
  std::vector<std::shared_ptr<live_source>> feeds = {};
  std::size_t workers = 1;
  /// Makes what worker number n needs; `replaces`: its predecessor died.
  std::function<worker_config(std::size_t number, bool replaces)> make_worker = {};
  /// Where workers get threads of their own. Null only under a deterministic scheduler, which runs
  /// all in one.
  own_threads* threads = nullptr;
  gate_token alive;
  /// Told of what is opened; null: all rows are made here.
  std::shared_ptr<row_lender> lender = {};
  /// Hears of lent rows that a worker takes in a dead one's place; may be null.
  std::shared_ptr<listener> taken = {};
  /// Records how long the dispatcher works; may be null.
  job_metrics* metrics = nullptr;
  /// Told of what kills the dispatcher, the batcher or a worker.
  failure_handler failed = {};
};

/// What the dispatcher does for each message. It never blocks: lanes and rows run in workers.
class dispatcher_state {
public:
  static inline const char* name = "dispatcher";
  using pointer = dispatcher_actor::stateful_pointer<dispatcher_state>;

  explicit dispatcher_state(pointer self) noexcept : self_(self) {}

  void prepare(const dispatcher_config& config) { config_.emplace(config); }

  void start(const batcher_actor& batcher);
  void deal(const slot_ptr& slot);
  /// Takes back probes and turns that are complete.
  void take_back();
  /// Passes rows that were lent on to all workers.
  void deal_lent(const chunk& rows);
  void wake();
  void begin_epoch(std::uint64_t epoch);
  void rewind(std::uint64_t run);
  void resize(std::uint64_t n);
  /// A worker is gone: replaces it, unless it was retired, and deals its rows again.
  void down(const caf::down_msg& x);
  void end(const caf::exit_msg& x);
  void fail(const error& problem);
  /// A handler threw: nothing is dealt any more.
  bool has_failed() const noexcept { return has_failed_; }

  /// Workers that exist, also retired ones.
  std::vector<caf::actor_addr> workers() const;

private:
  struct member {
    std::uint32_t id;
    worker_actor handle;
    prepared_exit exit;
  };
  /// Slots for what is no batch: those not in use, and what is to be dealt next, in memory that
  /// earlier ones used.
  struct aside {
    std::vector<slot_ptr> free;
    planned_batch next;
  };

  member spawn_worker(std::size_t number, bool replaces);
  /// Deals everything that is known.
  void work();
  bool open_batch(const slot_ptr& slot);
  void send_rows(const slot_ptr& slot);
  bool deal_aside(aside& from);

  pointer self_;
  std::optional<dispatcher_config> config_;
  batcher_actor batcher_;
  /// By worker number.
  std::vector<member> workers_;
  /// They get nothing more, but may have rows left.
  std::vector<member> retired_;
  /// Everything that was dealt.
  in_flight in_flight_;
  /// Slots of batches that iterators do not know yet, in order.
  std::deque<slot_ptr> waiting_;
  /// The next batch, and memory that earlier ones used.
  planned_batch next_;
  /// Batches that were just opened, whose rows are not dealt yet.
  std::vector<slot_ptr> opened_;
  aside probes_;
  aside turns_;
  feed_watch feeds_;
  /// Of the job, as loader::rewind counts them.
  std::uint64_t run_ = 0;
  bool has_failed_ = false;
};

/// Spawn with `system.spawn(dispatcher, config)`, then send `start_atom`. Lives until an exit
/// message, and takes its workers with it.
dispatcher_actor::behavior_type dispatcher(dispatcher_state::pointer self,
                                           const dispatcher_config& config);

} // namespace leat
