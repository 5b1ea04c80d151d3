#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace leat {

/// Threads that wait for a disk in place of those who may not. Its users bound how many tasks there
/// are. Any thread.
class disk_tasks : not_copied {
public:
  /// Memory that a thread keeps from one task to the next.
  using scratch = std::vector<std::byte>;
  /// Must not throw.
  using task = std::function<void(scratch&)>;

  /// Throws as begin_thread.
  explicit disk_tasks(std::size_t threads) {
    try {
      for (std::size_t i = 0; i < threads; ++i)
        threads_.add("cache", [this] { run(); });
    } catch (...) {
      end();
      throw;
    }
  }
  /// All tasks have run by then.
  ~disk_tasks() { end(); }

  void add(task x, bool is_urgent) {
    const mutex_lock lock{mutex_};
    (is_urgent ? urgent_ : others_).push_back(std::move(x));
    some_.notify_one();
  }

private:
  void end() {
    {
      const mutex_lock lock{mutex_};
      is_ending_ = true;
      some_.notify_all();
    }
    threads_.join();
  }

  void run() {
    scratch own;
    for (;;) {
      task next;
      {
        const mutex_lock lock{mutex_};
        while (urgent_.empty() && others_.empty() && !is_ending_)
          some_.wait(mutex_);
        auto& from = urgent_.empty() ? others_ : urgent_;
        if (from.empty())
          return;
        next = std::move(from.front());
        from.pop_front();
      }
      next(own);
    }
  }

  mutex mutex_;
  condition_variable some_;
  std::deque<task> urgent_ LEAT_GUARDED_BY(mutex_);
  std::deque<task> others_ LEAT_GUARDED_BY(mutex_);
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  joined_threads threads_;
};

} // namespace leat
