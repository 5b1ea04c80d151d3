#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace leat {

/// Counts the users of something, so that a thread can wait until there are none.
class gate {
public:
  /// Waits for at most `time`; true when the count is 0.
  template <class Duration>
  bool wait_for_none(Duration time) {
    return wait_until_none(std::chrono::steady_clock::now() + time);
  }
  bool wait_until_none(std::chrono::steady_clock::time_point deadline) {
    mutex_lock lock{mutex_};
    while (alive_ > 0 && none_.wait_until(mutex_, deadline)) {
    }
    return alive_ == 0;
  }

private:
  friend class gate_token;

  void add(int n) {
    mutex_lock lock{mutex_};
    alive_ = static_cast<std::size_t>(static_cast<long>(alive_) + n);
    if (alive_ == 0)
      none_.notify_all();
  }

  mutex mutex_;
  condition_variable none_;
  std::size_t alive_ LEAT_GUARDED_BY(mutex_) = 0;
};

/// One user of a gate, counted once for all copies of the token, until the last is gone. Create it
/// before the thread or actor that it stands for begins, so that none is missed.
class gate_token {
public:
  gate_token() = default;
  gate_token(std::shared_ptr<gate> count) {
    count->add(1);
    auto* of = count.get();
    life_ = {of, [count = std::move(count)](const gate*) { count->add(-1); }};
  }

private:
  std::shared_ptr<const gate> life_;
};

} // namespace leat
