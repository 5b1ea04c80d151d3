#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/cluster/member.hpp"
#include "runtime/cluster/noted_words.hpp"
#include "runtime/job/job_peers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace leat {

/// How far the trainer of a rank is, as member::move_on and member::count say, in a seat: its term,
/// and how many the process had let go of before.
struct trainer_note {
  std::uint64_t term = 0;
  std::uint64_t let_go = 0;
  job_position behind = {};
  std::uint64_t global_step = 0;
  std::uint64_t rows = 0;
  std::chrono::nanoseconds waited{0};
};

/// A rank's place in a cluster, which two sides use: the member actor, which hears and says, and
/// the loader, which takes the seat, states what it has in it and waits. Waits throw as `job_peers`
/// says. Large because both sides look at one member under one lock, and what was seen there holds
/// for one seat.
class membership final : public job_peers {
public:
  using time = member::time;
  /// By the clock that runs on while the machine sleeps.
  using clock = std::function<time()>;

  /// `lost_after`: for how long a coordinator may be silent.
  membership(cluster_hello me, const cluster_times& times, clock now, time lost_after = time::max())
      : now_(std::move(now)), lost_after_(lost_after), value_(std::move(me), times) {}

  // Any thread:
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
  /// The same of the seat that was taken; of no use once that is lost.
  template <class Call>
  void state_in_seat(Call call) {
    state([&](member& x) {
      if (is_in_seat(x))
        call(x);
    });
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
  void state(std::uint64_t epoch, const epoch_horizon& x) override;

  // The trainer's thread:
  /// Called while the trainer waits, now and then; empty: nothing.
  void set_keeper(std::function<void()> keep_up) { keep_up_ = std::move(keep_up); }
  /// Waits for a seat and takes it; none if the job is over. Throws `errc::cluster` if there is
  /// none in time, and as check().
  std::optional<cluster_seat> take_seat(time within);
  /// That of the seat that was taken; 0: none.
  std::uint64_t term() const noexcept { return term_; }
  /// The seat is lost, or the job or the cluster has failed. Any thread.
  bool has_changed();
  /// Throws `errc::cluster` if that is more than a lost seat.
  void check();
  /// The trainer saves nothing before `behind` any more, and is done with the steps before. For
  /// people: rows that were handed over in this seat, and how long it has waited for them.
  void move_on(trainer_note x);
  /// Without the lock: the actor reads it before it says something. Of no use in another seat.
  void note(const trainer_note& x) noexcept {
    noted_.note({x.term, x.let_go, x.behind.epoch, x.behind.step, x.global_step, x.rows,
                 static_cast<std::uint64_t>(x.waited.count())});
  }
  /// Waits until it is so, or the seat is lost.
  template <class IsSo>
  void wait(IsSo is_so) {
    bool is_here = false;
    const auto look = [&](const member& x, time now) {
      is_here = is_so(x, now);
      return is_here || is_other(x);
    };
    while (!wait_until(look, end_of_wait()))
      keep_up();
    if (!is_here)
      lose_patience();
  }
  epoch_horizon wait_for_end(std::uint64_t epoch, std::uint64_t step) override;
  void wait_to_hand_over(std::uint64_t global_step) override;

private:
  bool is_lost(const member& x) const;
  /// It still holds the seat that was taken.
  bool is_in_seat(const member& x) const { return x.term() == term_ && x.hello().who == who_; }
  bool is_other(const member& x) const;
  /// The lease lasts, and for so long that a tick, even a late one, does not matter.
  bool is_permitted_at(std::uint64_t tick);
  void keep_up() const;
  static std::chrono::steady_clock::time_point end_of_wait();
  [[noreturn]] static void lose_patience();
  void take_note() LEAT_REQUIRES(mutex_);

  const clock now_;
  const time lost_after_;
  noted_words<7> noted_;
  std::atomic<std::uint64_t> version_{1};
  mutex mutex_;
  condition_variable changed_;
  member value_ LEAT_GUARDED_BY(mutex_);
  /// Does not block.
  std::function<void()> speaker_ LEAT_GUARDED_BY(mutex_);
  std::function<void()> keep_up_;
  /// The seat that was taken; 0: none.
  std::uint64_t term_ = 0;
  incarnation who_;
  /// The version at which this step of the job was the first to be said before the next beat.
  std::uint64_t moves_on_ = 0;
  std::uint64_t next_news_ = 0;
  struct permit {
    std::uint64_t version = 0;
    time until{0};
    std::uint64_t step_limit = 0;
    /// As long as clock_tick() is this, the lease lasts; 0: that is not known.
    std::uint64_t tick = 0;
  } permit_;
};

} // namespace leat
