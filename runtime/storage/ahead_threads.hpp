#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <cstddef>
#include <thread>
#include <vector>

namespace leat {

/// Threads that decompress files ahead of the threads that need the data. Created on demand.
class ahead_threads : not_copied {
public:
  /// A repeating piece of work. One thread at a time runs it.
  class work : not_copied {
  public:
  protected:
    ~work() = default;

  private:
    friend class ahead_threads;

    /// Returns true to run again, after others that are waiting have had their turn.
    virtual bool run() noexcept = 0;

    work* next_ = nullptr;
    /// Threads that have not left `run` yet. There are two if it was added again while the first
    /// was about to leave.
    std::size_t threads_ = 0;
  };

  explicit ahead_threads(std::size_t most) : most_(most) {}
  /// No work may be left.
  ~ahead_threads();

  /// Queues `x`. It must not be queued already, and its last run must have returned false, or be
  /// about to. Throws `errc::no_resources` if there is no thread and none can be created.
  void add(work& x);
  /// Waits until no thread runs `x`, and removes it from the queue.
  void remove(work& x);

private:
  void run();
  /// Creates a thread if none is free and the limit allows one more.
  void make_thread() LEAT_REQUIRES(mutex_);
  void push(work& x) noexcept LEAT_REQUIRES(mutex_);
  work& pop() noexcept LEAT_REQUIRES(mutex_);

  const std::size_t most_;
  mutex mutex_;
  /// Signals that work waits, or that the threads must end.
  condition_variable some_;
  /// Signals that some work has run.
  condition_variable ran_;
  /// Queue of waiting work, first come, first served.
  work* first_ LEAT_GUARDED_BY(mutex_) = nullptr;
  work* last_ LEAT_GUARDED_BY(mutex_) = nullptr;
  std::size_t waiting_ LEAT_GUARDED_BY(mutex_) = 0;
  /// Idle threads.
  std::size_t free_ LEAT_GUARDED_BY(mutex_) = 0;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
