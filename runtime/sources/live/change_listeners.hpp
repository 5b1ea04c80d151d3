#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// Functions that are called when something changes. Any thread.
class change_listeners {
public:
  /// Calls `changed` at every change until the returned function is called, which waits for a call
  /// in progress, and so must not be called from within one. It may outlive this object.
  std::function<void()> add(std::function<void()> changed);

  void call();

private:
  struct listener {
    explicit listener(std::function<void()> f) : changed(std::move(f)) {}

    const std::function<void()> changed;
    /// Held during a call.
    mutex calling;
    /// Set under `calling`.
    std::atomic<bool> gone = false;
  };

  mutex mutex_;
  std::vector<std::shared_ptr<listener>> all_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
