#pragma once

#include "actors/caf/own_thread.hpp"
#include "actors/caf/watched_actor.hpp"
#include "actors/prepared_exit.hpp"
#include "actors/worker.hpp"
#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/batch_order.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/row_assignment.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

struct dispatcher_state {
  static inline const char* name = "dispatcher";

  dispatcher_state() = default;
  ~dispatcher_state();
  dispatcher_state(const dispatcher_state&) = delete;
  dispatcher_state& operator=(const dispatcher_state&) = delete;

  struct member {
    std::uint32_t id;
    worker_actor handle;
    prepared_exit exit;
  };

  /// Index of a worker by its id, if rows are dealt to it.
  std::optional<std::size_t> find(std::uint32_t id) const noexcept;
  std::vector<std::uint32_t> ids() const;

  std::shared_ptr<batch_order> order;
  std::optional<row_assignment> policy;
  /// Slots of batches that iterators do not know yet, in order.
  std::deque<slot_ptr> waiting;
  /// The next batch, and memory that earlier ones used.
  planned_batch next;
  /// Batches that were just opened, whose rows are not dealt yet.
  std::vector<slot_ptr> opened;
  /// Slots for items that workers probe.
  std::vector<slot_ptr> free_probes;
  std::size_t rows_a_probe = 1;
  struct lane_turns {
    std::size_t lanes = 1;
    /// A slot for them, if it is not in use.
    std::vector<slot_ptr> free;
    /// Those to deal, in memory that earlier ones used.
    planned_batch rows;
  };
  lane_turns turns;
  /// True while a message is on its way: one is enough for any number of records.
  std::shared_ptr<std::atomic<bool>> is_called = std::make_shared<std::atomic<bool>>(false);
  /// May be null.
  job_metrics* metrics = nullptr;
  /// A handler threw: nothing is dealt any more.
  bool has_failed = false;
  /// Functions that end the feeds' calls.
  std::vector<std::function<void()>> hang_up;
  /// By worker number.
  std::vector<member> workers;
  batcher_actor batcher;
};

struct dispatcher_config {
  std::shared_ptr<batch_order> order;
  row_assignment policy;
  /// Number of items that are probed together.
  std::size_t rows_a_probe = 1;
  /// Lanes of the rank.
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
  /// Records how long the dispatcher works; may be null.
  job_metrics* metrics = nullptr;
  /// Told of what kills the dispatcher, the batcher or a worker.
  failure_handler failed = {};
};

/// Spawn with `system.spawn(dispatcher, config)`, then send `start_atom`. Lives until an exit
/// message, and takes its workers with it.
dispatcher_actor::behavior_type
dispatcher(dispatcher_actor::stateful_pointer<dispatcher_state> self,
           const dispatcher_config& config);

} // namespace leat
