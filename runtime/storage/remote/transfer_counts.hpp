#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace leat {

/// How long several have been in a state, such as waiting, summed up over them; those that are in
/// it now count up to now. Times are nanoseconds of the steady clock. Any thread.
class time_inside {
public:
  void enter(std::int64_t now) noexcept {
    const mutex_lock lock{mutex_};
    add_until(now);
    ++inside_;
  }
  /// After an `enter` of its own.
  void leave(std::int64_t now) noexcept {
    const mutex_lock lock{mutex_};
    add_until(now);
    --inside_;
  }
  std::chrono::nanoseconds until(std::int64_t now) noexcept {
    const mutex_lock lock{mutex_};
    add_until(now);
    return std::chrono::nanoseconds{sum_};
  }

private:
  /// Threads may come in another order than they read the clock.
  void add_until(std::int64_t now) noexcept LEAT_REQUIRES(mutex_) {
    if (now <= last_)
      return;
    sum_ += inside_ * (now - last_);
    last_ = now;
  }

  mutex mutex_;
  std::int64_t inside_ LEAT_GUARDED_BY(mutex_) = 0;
  std::int64_t last_ LEAT_GUARDED_BY(mutex_) = 0;
  std::int64_t sum_ LEAT_GUARDED_BY(mutex_) = 0;
};

/// What has happened so far to the requests of one pool. Any thread may write and read.
struct transfer_counts {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> in_flight{0};
  /// Bytes of bodies that were of use.
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> retries{0};
  /// Requests that were sent while an earlier one for the same bytes was in flight, and those of
  /// them that were faster.
  std::atomic<std::uint64_t> hedges{0};
  std::atomic<std::uint64_t> hedges_won{0};
  /// Responses that contradicted the request.
  std::atomic<std::uint64_t> wrong{0};
  /// Responses that refused it since there are too many.
  std::atomic<std::uint64_t> throttled{0};
  /// Of requests that were answered, in nanoseconds: all of it, and what the server took before its
  /// answer began, without the way there and back.
  std::atomic<std::int64_t> requesting{0};
  std::atomic<std::int64_t> answering{0};
  /// Servers that were to be asked for more than they may be asked at a time.
  time_inside queued;
  /// Threads that wait for bytes.
  time_inside waiting;
  /// Readers that would read further ahead if the budget of memory had room, and how often one
  /// began to wait for that.
  time_inside without_budget;
  std::atomic<std::uint64_t> budget_waits{0};
  /// Seconds that the clock of the server that answered last is ahead of this machine's; none has
  /// said yet: `no_clock`.
  static constexpr std::int64_t no_clock = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> clock_ahead{no_clock};
};

/// Whether one reader waits for room in the budget, as `counts` sums up. Not for several threads at
/// a time.
class budget_wait : not_copied {
public:
  explicit budget_wait(transfer_counts& counts) noexcept : counts_(counts) {}
  ~budget_wait() { set(false); }

  void set(bool waits) noexcept;

private:
  transfer_counts& counts_;
  bool waits_ = false;
};

/// A thread waits for bytes while this lives.
class byte_wait : not_copied {
public:
  explicit byte_wait(transfer_counts& counts) noexcept;
  ~byte_wait();

private:
  transfer_counts& counts_;
};

/// Those of this process's pool, for all stores.
transfer_counts& process_counts() noexcept;

} // namespace leat
