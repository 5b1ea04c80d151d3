#pragma once

#include "actors/caf/actor_host.hpp"
#include "actors/checkpoint.hpp"
#include "actors/prepared_exit.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/job/journal_retention.hpp"
#include "runtime/rows/job_metrics.hpp"

#include <leat/error.hpp>

#include <caf/actor_control_block.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// Where actors run; called at the first save.
using host_function = std::function<actor_host&()>;

/// Saves snapshots one after the other, with at most two on their way: in the background, or in the
/// caller's thread. One thread, unless a member says "any thread".
class save_queue : not_copied {
public:
  /// `host`: empty for saves in the caller's thread. `metrics` records the time and the bytes of
  /// each save.
  save_queue(host_function host, std::shared_ptr<job_metrics> metrics)
      : host_(std::move(host)), saves_(std::make_shared<tracker>(std::move(metrics))) {}
  /// Sends a notice of an error that check() has not thrown.
  ~save_queue();

  /// Waits while two saves are on their way; throws patience_ended. `records`, which may be null,
  /// hears which records no snapshot needs any more. The error of a save in the background is
  /// thrown by the next check(); otherwise save() throws it. Also throws the error of an earlier
  /// save; `errc::no_resources`; `errc::shut_down` after end().
  void save(save_request request, const std::shared_ptr<journal_retention>& records);
  /// Throws the error of an earlier save, once.
  void check() { saves_->check(); }
  /// Whether the caller may never call check() again, as at the end of a job: an error is then sent
  /// as a notice as soon as it occurs, and check() still throws it if it is called after all.
  /// Changes nothing without a host, where save() itself throws.
  void set_unasked(bool x) {
    if (host_)
      saves_->set_unasked(x);
  }
  /// Throws patience_ended.
  void wait_for_all() { saves_->wait_for_all_but(0); }
  /// Waits for the saves that are on their way, and begins no others. May be called again. Any
  /// thread.
  void end() noexcept;

private:
  /// A save on its way.
  struct under_way {
    std::string directory;
    std::shared_ptr<journal_retention> records;
  };

  /// Knows the saves on their way, and keeps the first error. Any thread.
  class tracker {
  public:
    explicit tracker(std::shared_ptr<job_metrics> metrics) : metrics_(std::move(metrics)) {}

    /// Waits until fewer than two saves are on their way, then adds one. Throws `errc::shut_down`
    /// after close().
    void begin(under_way x);
    /// The save that was begun last could not be sent.
    void take_back(std::optional<error> problem) noexcept;
    /// The oldest save has its answer.
    void answered(const save_report& x) noexcept;
    /// No save will be answered any more.
    void lost() noexcept;
    /// Throws patience_ended.
    void wait_for_all_but(std::size_t n);
    /// Lets no save begin any more, and waits for all.
    void close();
    void check();
    void set_unasked(bool x) noexcept;

  private:
    void end(std::optional<error> problem) noexcept;
    void keep(std::optional<error> problem) noexcept;
    void tell_unasked() noexcept;

    const std::shared_ptr<job_metrics> metrics_;
    mutex mutex_;
    condition_variable changed_;
    std::deque<under_way> on_their_way_ LEAT_GUARDED_BY(mutex_);
    bool closed_ LEAT_GUARDED_BY(mutex_) = false;
    bool is_unasked_ LEAT_GUARDED_BY(mutex_) = false;
    std::optional<error> problem_ LEAT_GUARDED_BY(mutex_);
    /// A notice was sent.
    bool is_told_ LEAT_GUARDED_BY(mutex_) = false;
  };

  void start();
  void run(save_request request, journal_retention* records);

  const host_function host_;
  const std::shared_ptr<tracker> saves_;
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  /// Begun and used while a save is on its way; ended when none is.
  checkpoint_actor actor_;
  prepared_exit exit_;
  /// Asks the actor.
  caf::strong_actor_ptr caller_;
};

} // namespace leat
