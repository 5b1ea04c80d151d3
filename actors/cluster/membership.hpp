#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/cluster/member.hpp"
#include "runtime/cluster/noted_words.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace leat {

/// A seat that a process has had: the term, and how many it had let go of before.
struct seat_name {
  std::uint64_t term = 0;
  std::uint64_t let_go = 0;
};

/// How far the trainer of a rank is: as member::move_on and member::count say.
struct trainer_place {
  job_position behind = {};
  std::uint64_t global_step = 0;
  std::uint64_t rows = 0;
  std::chrono::nanoseconds waited{0};
};

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
    take_note();
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
    take_note();
    call(value_);
    if (speaker_ && value_.has_news())
      speaker_();
  }

  /// For the loader's thread, at each batch, without the lock: the actor reads it before it says
  /// something. Of no use in another seat than this.
  void note_place(const seat_name& of, const trainer_place& x) noexcept {
    noted_.note({of.term, of.let_go, x.behind.epoch, x.behind.step, x.global_step, x.rows,
                 static_cast<std::uint64_t>(x.waited.count())});
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
  void take_note() LEAT_REQUIRES(mutex_) {
    const auto [term, let_go, epoch, step, global_step, rows, waited] = noted_.read();
    if (term == 0 || term != value_.term() || let_go != value_.hello().who.let_go)
      return;
    value_.move_on({epoch, step}, global_step);
    value_.count(rows, time{static_cast<time::rep>(waited)});
  }

  const clock now_;
  noted_words<7> noted_;
  std::atomic<std::uint64_t> version_{1};
  mutex mutex_;
  condition_variable changed_;
  member value_ LEAT_GUARDED_BY(mutex_);
  /// Does not block.
  std::function<void()> speaker_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
