#pragma once

#include "actors/actor_host.hpp"
#include "actors/checkpoint.hpp"
#include "runtime/base/gate.hpp"
#include "runtime/base/mutex.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace leat {

/// Where actors run; called at the first save.
using host_function = std::function<actor_host&()>;

/// Saves snapshots one after the other, at most two at a time: in the background, or in the
/// caller's thread. For one thread, but where it says any.
class save_queue {
public:
  /// `host`: empty for saves in the caller's thread.
  explicit save_queue(host_function host) : host_(std::move(host)) {}
  ~save_queue() { end(); }
  save_queue(const save_queue&) = delete;
  save_queue& operator=(const save_queue&) = delete;

  /// Waits while two saves are on their way. `request.done` is filled in here. What goes wrong is
  /// told by check(), at once where the save is not in the background. Throws the error of an
  /// earlier save; `errc::no_resources`; `errc::shut_down` after end().
  void save(save_request request);
  /// Throws the error of an earlier save, once.
  void check() { saves_->check(); }
  void wait_for_all() { saves_->wait_for_all(); }
  /// Waits for the saves that are on their way, and begins no others. May be called again. Any
  /// thread.
  void end() noexcept;

private:
  /// Counts the saves on their way, and keeps the first error. Any thread.
  class tracker {
  public:
    /// Waits until fewer than two saves are on their way, then counts one more. Throws
    /// `errc::shut_down` after close().
    void begin();
    void end(std::optional<error> problem);
    void wait_for_all();
    /// Nothing begins any more. Waits for all.
    void close();
    void check();

  private:
    mutex mutex_;
    condition_variable changed_;
    std::size_t on_their_way_ LEAT_GUARDED_BY(mutex_) = 0;
    bool closed_ LEAT_GUARDED_BY(mutex_) = false;
    std::optional<error> problem_ LEAT_GUARDED_BY(mutex_);
  };

  void start();
  void run(save_request request);

  const host_function host_;
  std::shared_ptr<tracker> saves_ = std::make_shared<tracker>();
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  /// Begun and used while a save is on its way; ended when none is.
  checkpoint_actor actor_;
};

} // namespace leat
