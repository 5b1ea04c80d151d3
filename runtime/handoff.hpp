#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace leat {

/// Passes finished values from actors to the one thread that waits for them. Bounded by its users:
/// it never holds more than there are batch slots.
template <class T>
class handoff {
public:
  /// Any thread.
  void push(T x) {
    {
      std::lock_guard lock{mutex_};
      ready_.push_back(std::move(x));
    }
    some_.notify_one();
  }

  /// The oldest value, or nothing when none came in time. One thread.
  template <class Clock, class Duration>
  std::optional<T> pop_until(std::chrono::time_point<Clock, Duration> deadline) {
    std::unique_lock lock{mutex_};
    if (!some_.wait_until(lock, deadline, [&] { return !ready_.empty(); }))
      return std::nullopt;
    return take();
  }

  /// The oldest value if one is there.
  std::optional<T> try_pop() {
    std::lock_guard lock{mutex_};
    return ready_.empty() ? std::nullopt : take();
  }

private:
  std::optional<T> take() {
    std::optional<T> x{std::move(ready_.front())};
    ready_.pop_front();
    return x;
  }

  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<T> ready_;
};

} // namespace leat
