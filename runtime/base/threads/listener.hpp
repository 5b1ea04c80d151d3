#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <functional>
#include <utility>

namespace leat {

/// A function that threads call which may outlive what it refers to. Any thread.
class listener {
public:
  explicit listener(std::function<void()> hear) : hear_(std::move(hear)) {}

  /// Calls it, one thread at a time, unless `end` was called.
  void tell() {
    const mutex_lock lock{mutex_};
    if (hear_)
      hear_();
  }
  /// Waits for a call that has begun; there is none after that. Not from within one.
  void end() noexcept {
    const mutex_lock lock{mutex_};
    hear_ = nullptr;
  }

private:
  mutex mutex_;
  std::function<void()> hear_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
