#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <cstddef>
#include <thread>
#include <vector>

namespace leat {

/// Threads that do a job's work ahead of the thread that will need it: they unpack files. Made when
/// there is something to do.
class ahead_threads {
public:
  /// Something to do again and again. One thread at a time runs it.
  class work {
  public:
    work() = default;
    work(const work&) = delete;
    work& operator=(const work&) = delete;

  protected:
    ~work() = default;

  private:
    friend class ahead_threads;

    /// True if it is to run again; others that wait have their turn first.
    virtual bool run() noexcept = 0;

    work* next_ = nullptr;
    /// Threads that have not left `run` yet. Two, if it was added again by one who knows that the
    /// first is about to leave.
    std::size_t threads_ = 0;
  };

  explicit ahead_threads(std::size_t most) : most_(most) {}
  /// Nothing may be left to do.
  ~ahead_threads();
  ahead_threads(const ahead_threads&) = delete;
  ahead_threads& operator=(const ahead_threads&) = delete;

  /// Has `x` run, which does not wait, and whose last run ends without asking for another one.
  /// Throws `errc::no_resources` if there is no thread and none can be made.
  void add(work& x);
  /// Waits until no thread runs `x`, and forgets it.
  void remove(work& x);

private:
  void run();
  /// Makes a thread if none is free and there may be one more.
  void make_thread() LEAT_REQUIRES(mutex_);
  void push(work& x) noexcept LEAT_REQUIRES(mutex_);
  work& pop() noexcept LEAT_REQUIRES(mutex_);

  const std::size_t most_;
  mutex mutex_;
  /// Something waits, or the end has come.
  condition_variable some_;
  /// Something has run.
  condition_variable ran_;
  /// What waits, in the order in which it came.
  work* first_ LEAT_GUARDED_BY(mutex_) = nullptr;
  work* last_ LEAT_GUARDED_BY(mutex_) = nullptr;
  std::size_t waiting_ LEAT_GUARDED_BY(mutex_) = 0;
  /// Threads that have nothing to do.
  std::size_t free_ LEAT_GUARDED_BY(mutex_) = 0;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
