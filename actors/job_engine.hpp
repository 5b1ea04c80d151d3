#pragma once

#include "actors/batch_engine.hpp"
#include "actors/caller_watch.hpp"
#include "actors/runtime_core.hpp"
#include "actors/save_queue.hpp"
#include "actors/worker_crew.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/job/automatic_workers.hpp"
#include "runtime/rows/job_metrics.hpp"
#include "runtime/rows/job_plan.hpp"

#include <leat/loader.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

namespace leat {

/// What runs a job: its engine (from the first next() on) and its saves. The runtime can end both.
/// For the trainer's thread, unless a member says "any thread".
class job_engine final : public runtime_member {
public:
  /// Takes the process's runtime where the options name none. Throws `errc::shut_down`.
  explicit job_engine(loader_options& options);
  ~job_engine() override;
  /// The runtime may end it from now on. `plan`: the job's; plans that replace it share its samples
  /// and its `cancelled`.
  void join(std::shared_ptr<const job_plan> plan);
  /// Ends it. If a function of the pipeline does not return, `owner`, which contains this, is kept
  /// until the process ends.
  void leave(std::shared_ptr<const void> owner = nullptr) noexcept;

  caller_watch& caller() noexcept { return caller_; }
  save_queue& saves() noexcept { return saves_; }
  const std::shared_ptr<worker_crew>& crew() const noexcept { return crew_; }
  const std::shared_ptr<job_metrics>& metrics() const noexcept { return metrics_; }

  void begin(engine_parts parts, const loader_options& options);
  /// Null before begin().
  const std::shared_ptr<batch_engine>& get() const noexcept { return engine_; }
  /// Sets the number of workers; with `automatic`, to what turns out to be needed.
  void resize(std::size_t workers);
  /// After each batch: gives the job the number of workers that it needs.
  void tune_workers();

  /// Throws `errc::shut_down` once the runtime is. Any thread, as all that follow.
  void check_runtime() const;
  bool is_asked_to_end() const noexcept { return is_shut_down_; }
  const job_plan& plan() const noexcept { return *plan_; }
  /// Ends next(), now and later: it throws `errc::interrupted`.
  void interrupt() noexcept;
  /// Like interrupt(), but next() throws `errc::shut_down`.
  void ask_to_end() noexcept override;
  /// Ends actors and threads, once next() has been asked to end; leases that are out stay readable.
  /// May be called again.
  void end() noexcept override;
  bool is_abandoned() const noexcept override { return is_abandoned_; }

private:
  /// The number requested, or the most that there may be until it is known how many are needed.
  std::size_t number_of(std::size_t workers);

  const std::shared_ptr<runtime_core> core_;
  const std::shared_ptr<trace> trace_;
  const std::shared_ptr<job_metrics> metrics_ = std::make_shared<job_metrics>();
  const std::shared_ptr<worker_crew> crew_;
  caller_watch caller_;
  save_queue saves_;
  /// Set if the loader itself chooses the number of workers.
  std::optional<automatic_workers> automatic_;
  std::shared_ptr<const job_plan> plan_;
  std::atomic<bool> is_shut_down_{false};
  std::atomic<bool> is_abandoned_{false};
  /// Guards changes of `engine_`, for other threads.
  mutex mutex_;
  std::shared_ptr<batch_engine> engine_;
  /// Set once it is abandoned. Such engines stay reachable, so that leak checkers do not report
  /// them.
  std::shared_ptr<const void> owner_;
  job_engine* abandoned_before_ = nullptr;
  static inline std::atomic<job_engine*> last_abandoned{nullptr};
  /// Last: whoever ends the runtime uses all other members.
  runtime_core::registration registration_;
};

} // namespace leat
