#pragma once

#include "runtime/base/mutex.hpp"
#include "runtime/cluster/member.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace leat {

/// A rank's place in a cluster, which two sides use: the member actor, which hears and says, and
/// the loader, which waits and states. Any thread.
class membership {
public:
  using time = member::time;
  /// By the clock that runs on while the machine sleeps.
  using clock = std::function<time()>;

  membership(cluster_hello me, const cluster_times& times, clock now)
      : now_(std::move(now)), value_(std::move(me), times) {}

  /// Who is woken when there is something to say; empty: nobody any more.
  void set_speaker(std::function<void()> wake) {
    const mutex_lock lock{mutex_};
    speaker_ = std::move(wake);
  }

  /// For the actor: changes what is known, and wakes whoever waits for it.
  template <class Call>
  auto hear(Call call) {
    const mutex_lock lock{mutex_};
    version_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
    return call(value_, now_());
  }

  /// Differs once the actor has changed something. What a look has found still holds while it is
  /// the same, but for the time: then the loader need not take the lock for each batch.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  /// For the loader: states something, and has it said where others wait for it.
  template <class Call>
  auto state(Call call) {
    const mutex_lock lock{mutex_};
    call(value_);
    if (speaker_ && value_.has_news())
      speaker_();
  }

  /// For the loader: looks, without saying anything.
  template <class Call>
  auto look(Call call) {
    const mutex_lock lock{mutex_};
    return call(std::as_const(value_), now_());
  }

  /// Waits until `is_so` (a lease may run out without anyone saying so: it is asked again at the
  /// end of it). False at the deadline.
  template <class IsSo>
  bool wait_until(IsSo is_so, std::chrono::steady_clock::time_point deadline) {
    const mutex_lock lock{mutex_};
    while (!is_so(std::as_const(value_), now_()))
      if (!changed_.wait_until(mutex_, deadline))
        return is_so(std::as_const(value_), now_());
    return true;
  }

private:
  const clock now_;
  std::atomic<std::uint64_t> version_{1};
  mutex mutex_;
  condition_variable changed_;
  member value_ LEAT_GUARDED_BY(mutex_);
  /// Does not block.
  std::function<void()> speaker_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
