#pragma once

#include "actors/batch_engine.hpp"
#include "actors/caf/actor_host.hpp"
#include "actors/finished_slots.hpp"
#include "actors/pipeline.hpp"
#include "actors/slot_pool.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/rows/prefetch_depth.hpp"

#include <leat/loader.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace leat {

/// Makes batches ahead with actors: workers make their rows, and finished slots come back in order.
class actor_engine final : public batch_engine {
public:
  /// Spawns the actors; nothing begins before make_room().
  actor_engine(actor_host& host, engine_parts parts, const loader_options& options);
  ~actor_engine() override { shutdown(); }

  void make_room(std::size_t leases) override;
  slot_ptr next() override;
  void recycle(slot_ptr slot) override;
  void begin_epoch(std::uint64_t epoch) override;
  void rewind(std::uint64_t run) override;
  void resize(std::size_t workers) override;
  void interrupt() noexcept override { ready_->interrupt(); }
  bool shutdown() noexcept override;

private:
  dispatcher_config config_for(actor_host& host, engine_parts& parts,
                               const loader_options& options);
  void begin_lending();
  bool end_lending() noexcept;
  slot_ptr next_slot();
  void send_free(slot_ptr slot);
  /// What a call throws also fails the job, which would wait for what was not told.
  template <class Call>
  void telling(Call call);
  error stuck_error(const worker_record& record) const;
  /// The function that a worker has not returned from in time, if there is one.
  std::optional<error> stuck() const;
  std::chrono::steady_clock::time_point stuck_at() const;

  caf::actor_system& system_;
  const std::shared_ptr<const job_plan> plan_;
  const std::shared_ptr<worker_crew> crew_;
  const std::shared_ptr<job_metrics> metrics_;
  const std::chrono::milliseconds stuck_after_;
  const bool counts_waits_;
  /// Used by the thread that calls next().
  prefetch_depth ahead_;
  slot_pool slots_;
  /// Actors may outlive the engine, if only for the moment in which they say so.
  const std::shared_ptr<finished_slots> ready_ = std::make_shared<finished_slots>();

  const std::shared_ptr<row_lender> lender_;
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  mutex mutex_;
  /// Leases return slots from any thread.
  pipeline_actors actors_ LEAT_GUARDED_BY(mutex_);
  /// By the thread that ends the job.
  bool has_given_up_ = false;
};

} // namespace leat
