#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace leat {

/// Functions that are called when something changes. Any thread.
class change_listeners {
public:
  /// Calls `changed` at every change until the returned function is called, which waits for a call
  /// in progress, and so must not be called from one. It may outlive this.
  std::function<void()> add(std::function<void()> changed);

  void call();

private:
  struct listener {
    std::function<void()> changed;
    std::mutex calling;
    /// Set under `calling`.
    std::atomic<bool> gone = false;
  };

  std::mutex mutex_;
  // Guarded by `mutex_`:
  std::vector<std::shared_ptr<listener>> all_;
};

} // namespace leat
