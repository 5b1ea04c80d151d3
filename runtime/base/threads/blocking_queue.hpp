#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <utility>

namespace leat {

/// Passes finished values from actors to the one thread that waits for them. Its users bound it: it
/// never holds more values than there are batch slots. It allocates only when more values wait than
/// ever before, and more than `places`, so that an actor can still report that memory has run out.
template <class T>
class blocking_queue {
public:
  static constexpr std::size_t places = 64;

  /// Any thread.
  void push(T x) {
    {
      mutex_lock lock{mutex_};
      if (free_.empty())
        free_.emplace_back();
      free_.front() = std::move(x);
      ready_.splice(ready_.end(), free_, free_.begin());
    }
    some_.notify_one();
  }

  /// From now on no call waits, and one that waits returns. Any thread.
  void interrupt() {
    {
      const mutex_lock lock{mutex_};
      interrupted_ = true;
    }
    some_.notify_one();
  }

  /// The oldest value, or nothing if none came in time. One thread.
  template <class Clock, class Duration>
  std::optional<T> pop_until(std::chrono::time_point<Clock, Duration> deadline) {
    mutex_lock lock{mutex_};
    while (ready_.empty() && !interrupted_ && some_.wait_until(mutex_, deadline)) {
    }
    return ready_.empty() ? std::nullopt : take();
  }

  /// The oldest value, if there is one.
  std::optional<T> try_pop() {
    mutex_lock lock{mutex_};
    return ready_.empty() ? std::nullopt : take();
  }

private:
  std::optional<T> take() LEAT_REQUIRES(mutex_) {
    std::optional<T> x{std::move(ready_.front())};
    free_.splice(free_.begin(), ready_, ready_.begin());
    return x;
  }

  mutex mutex_;
  condition_variable some_;
  bool interrupted_ LEAT_GUARDED_BY(mutex_) = false;
  std::list<T> ready_ LEAT_GUARDED_BY(mutex_);
  /// Nodes of values that have left, and at first a reserve.
  std::list<T> free_ LEAT_GUARDED_BY(mutex_){places};
};

} // namespace leat
