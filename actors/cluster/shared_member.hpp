#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/cluster/member.hpp"
#include "runtime/cluster/noted_words.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace leat {

/// A rank's member, which its actor (it hears and says) and its loader (it states and waits) share.
/// What is called with the member gets the time, too, if it has a second parameter. Any thread.
class shared_member {
public:
  using time = member::time;
  /// By the clock that runs on while the machine sleeps.
  using clock = std::function<time()>;

  shared_member(cluster_hello me, const cluster_times& times, clock now)
      : now_(std::move(now)), value_(std::move(me), times) {}

  /// `wake` is called when there is something to say, and must not block; empty: nobody is left to
  /// say it.
  void set_speaker(std::function<void()> wake) {
    const mutex_lock lock{mutex_};
    speaker_ = std::move(wake);
  }
  /// `look` says what feeds have given the rank: it is called in the actor's thread, and must not
  /// block; empty: there are none.
  void set_feeds(std::function<std::vector<feed_progress>()> look) {
    const mutex_lock lock{mutex_};
    look_at_feeds_ = std::move(look);
  }
  /// For the actor, before it says something.
  void note_feeds() {
    const mutex_lock lock{mutex_};
    if (look_at_feeds_)
      value_.fed_by(look_at_feeds_());
  }
  /// For the actor: changes what is known, and wakes whoever waits for it.
  template <class Call>
  auto hear(Call call) {
    const mutex_lock lock{mutex_};
    take_note();
    version_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
    return answer(call, value_);
  }
  /// Differs once the actor has changed something. As long as it is the same, what a look has found
  /// still holds, except for the time: the loader need not take the lock for each batch.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }
  /// For the loader: states something, and wakes the speaker if others wait for it.
  template <class Call>
  auto state(Call call) {
    const mutex_lock lock{mutex_};
    take_note();
    call(value_);
    if (speaker_ && value_.has_news())
      speaker_();
  }
  /// For the loader: looks, and states nothing.
  template <class Call>
  auto look(Call call) {
    const mutex_lock lock{mutex_};
    return answer(call, std::as_const(value_));
  }
  /// Waits until `is_so`, which is asked again whenever the actor has changed something, and at the
  /// deadline: a lease runs out without a word. False if it is not so then.
  template <class IsSo>
  bool wait_until(IsSo is_so, std::chrono::steady_clock::time_point deadline) {
    const mutex_lock lock{mutex_};
    while (!answer(is_so, std::as_const(value_)))
      if (!changed_.wait_until(mutex_, deadline))
        return answer(is_so, std::as_const(value_));
    return true;
  }
  /// What member::move_on takes over before the actor next says something, without the lock. Of no
  /// use once the member has let go of another seat or holds one in another term.
  void note(std::uint64_t term, std::uint64_t let_go, const trainer_note& x) noexcept {
    noted_.note({term, let_go, x.saves_from.epoch, x.saves_from.step, x.global_step, x.rows,
                 static_cast<std::uint64_t>(x.waited.count())});
  }

protected:
  time now() const { return now_(); }
  template <class Call, class Member>
  auto answer(Call& call, Member& x) const {
    if constexpr (std::is_invocable_v<Call&, Member&, time>)
      return std::invoke(call, x, now());
    else
      return std::invoke(call, x);
  }

private:
  void take_note() LEAT_REQUIRES(mutex_) {
    const auto [term, let_go, epoch, step, global_step, rows, waited] = noted_.read();
    if (term != 0 && term == value_.term() && let_go == value_.hello().who.let_go)
      value_.move_on({{epoch, step}, global_step, rows, time{static_cast<time::rep>(waited)}});
  }

  const clock now_;
  noted_words<7> noted_;
  std::atomic<std::uint64_t> version_{1};
  mutex mutex_;
  condition_variable changed_;
  member value_ LEAT_GUARDED_BY(mutex_);
  std::function<void()> speaker_ LEAT_GUARDED_BY(mutex_);
  std::function<std::vector<feed_progress>()> look_at_feeds_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
