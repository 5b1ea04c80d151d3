#pragma once

#include "actors/caf/actor_host.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/runtime.hpp>

#include <atomic>
#include <memory>
#include <vector>

namespace leat {

/// Throws `errc::shut_down`.
[[noreturn]] void refuse_after_shutdown();

/// A loader as its runtime sees it. The thread that ends the runtime calls both, at most once and
/// in this order, at any moment of a registration; a registration that is left calls `end`, too.
/// Calls never overlap.
class runtime_member : not_copied {
public:
  virtual ~runtime_member() = default;

  /// Asks all that runs to end.
  virtual void ask_to_end() noexcept = 0;
  /// Ends actors and threads: nothing of the member uses the runtime any more, unless it is
  /// abandoned.
  virtual void end() noexcept = 0;
  /// After end(): a thread of it does not end, and may still use the runtime.
  virtual bool is_abandoned() const noexcept { return false; }
};

/// The inside of a runtime. Any thread.
class runtime_core : not_copied {
public:
  explicit runtime_core(const runtime_options& options) : options_(options) {}
  ~runtime_core() { shutdown(); }

  /// A member of the runtime while this lives.
  class registration {
  public:
    registration() = default;
    registration(registration&&) noexcept = default;
    registration& operator=(registration&& other) noexcept;
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;
    ~registration() { leave(); }

    /// Ends the member, and then its registration: until then the runtime must exist, and
    /// afterwards it does not call the member any more. Waits for a call in progress.
    void leave() noexcept;

  private:
    friend class runtime_core;
    struct entry;

    std::shared_ptr<runtime_core> core_;
    std::shared_ptr<entry> entry_;
  };

  bool is_shut_down();
  /// Throws `errc::shut_down`.
  static registration add(std::shared_ptr<runtime_core> core, runtime_member& member);

  /// Starts the threads and the actor system at the first call. For members whose end() was not
  /// called. Throws `errc::no_resources`, and may be called again; `errc::shut_down`.
  actor_host& host();

  /// See runtime::shutdown(). Waits for another such call.
  void shutdown() noexcept;

private:
  void note_end_of(const runtime_member& x) noexcept;

  using entry_ptr = std::shared_ptr<registration::entry>;

  const runtime_options options_;
  /// Held by the one call that ends all.
  mutex ending_;
  mutex mutex_;
  bool is_shut_down_ LEAT_GUARDED_BY(mutex_) = false;
  /// A thread of a member that was abandoned uses the host.
  std::atomic<bool> is_abandoned_{false};
  /// For good, as the member keeps the runtime.
  actor_host* abandoned_host_ LEAT_GUARDED_BY(ending_) = nullptr;
  std::vector<entry_ptr> members_ LEAT_GUARDED_BY(mutex_);
  std::unique_ptr<actor_host> host_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
