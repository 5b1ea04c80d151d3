#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

// Annotations of what a mutex guards, which clang checks (-Wthread-safety, an error here); the
// standard library's own mutexes have none. Other compilers ignore them.
#if defined(__clang__)
#define LEAT_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define LEAT_THREAD_SAFETY(...)
#endif

/// For a field: only a thread that holds the mutex may read or write it.
#define LEAT_GUARDED_BY(mutex) LEAT_THREAD_SAFETY(guarded_by(mutex))
/// For a function: only a thread that holds the mutex may call it.
#define LEAT_REQUIRES(mutex) LEAT_THREAD_SAFETY(requires_capability(mutex))

namespace leat {

/// A std::mutex that clang's analysis knows.
class LEAT_THREAD_SAFETY(capability("mutex")) mutex {
public:
  void lock() LEAT_THREAD_SAFETY(acquire_capability()) { std_.lock(); }
  void unlock() LEAT_THREAD_SAFETY(release_capability()) { std_.unlock(); }

private:
  friend class condition_variable;
  std::mutex std_;
};

/// Holds a mutex for as long as it lives, except where it is unlocked in between.
class LEAT_THREAD_SAFETY(scoped_lockable) mutex_lock {
public:
  explicit mutex_lock(mutex& x) LEAT_THREAD_SAFETY(acquire_capability(x)) : mutex_(x) {
    mutex_.lock();
  }
  ~mutex_lock() LEAT_THREAD_SAFETY(release_capability()) {
    if (holds_)
      mutex_.unlock();
  }
  mutex_lock(const mutex_lock&) = delete;
  mutex_lock& operator=(const mutex_lock&) = delete;

  void unlock() LEAT_THREAD_SAFETY(release_capability()) {
    holds_ = false;
    mutex_.unlock();
  }
  void lock() LEAT_THREAD_SAFETY(acquire_capability()) {
    mutex_.lock();
    holds_ = true;
  }

private:
  mutex& mutex_;
  bool holds_ = true;
};

/// A std::condition_variable for these mutexes. Waits may end spuriously: call them in a loop that
/// tests the condition. (There is no overload with a predicate, because clang does not see that the
/// predicate runs with the mutex held.)
class condition_variable {
public:
  void wait(mutex& held) LEAT_REQUIRES(held) {
    std::unique_lock lock{held.std_, std::adopt_lock};
    std_.wait(lock);
    lock.release();
  }
  /// False once `deadline` has passed.
  template <class Clock, class Duration>
  bool wait_until(mutex& held, std::chrono::time_point<Clock, Duration> deadline)
      LEAT_REQUIRES(held) {
    std::unique_lock lock{held.std_, std::adopt_lock};
    const auto status = std_.wait_until(lock, deadline);
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  void notify_one() noexcept { std_.notify_one(); }
  void notify_all() noexcept { std_.notify_all(); }

private:
  std::condition_variable std_;
};

} // namespace leat
