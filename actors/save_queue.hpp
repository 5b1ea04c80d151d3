#pragma once

#include "actors/checkpoint.hpp"
#include "runtime/base/gate.hpp"
#include "runtime/base/mutex.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <memory>
#include <optional>

namespace leat {

/// Saves snapshots one after the other, at most two at a time: in the background, or in the
/// caller's thread. For one thread.
class save_queue {
public:
  explicit save_queue(bool in_background) : in_background_(in_background) {}
  ~save_queue() { shutdown(); }
  save_queue(const save_queue&) = delete;
  save_queue& operator=(const save_queue&) = delete;

  /// Waits while two saves are on their way. `request.done` is filled in here. What goes wrong is
  /// told by check(), at once where the save is not in the background. Throws the error of an
  /// earlier save, and `errc::no_resources`.
  void save(save_request request);
  /// Throws the error of an earlier save, once.
  void check() { saves_->check(); }
  void wait_for_all() { saves_->wait_for_all(); }
  /// Waits for the saves that are on their way. May be called again.
  void shutdown() noexcept;

private:
  /// Counts the saves on their way, and keeps the first error. Any thread.
  class tracker {
  public:
    /// Waits until fewer than two saves are on their way, then counts one more.
    void begin();
    void end(std::optional<error> problem);
    void wait_for_all();
    void check();

  private:
    mutex mutex_;
    condition_variable changed_;
    std::size_t on_their_way_ LEAT_GUARDED_BY(mutex_) = 0;
    std::optional<error> problem_ LEAT_GUARDED_BY(mutex_);
  };

  void start();
  void run(save_request request);

  const bool in_background_;
  std::shared_ptr<tracker> saves_ = std::make_shared<tracker>();
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  checkpoint_actor actor_;
};

} // namespace leat
