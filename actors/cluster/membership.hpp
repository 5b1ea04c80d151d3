#pragma once

#include "actors/cluster/shared_member.hpp"
#include "runtime/job/job_peers.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace leat {

/// A rank's place in a cluster as its loader has it: takes a seat, and then says how far the
/// trainer is, and waits for the other ranks. Waits throw as `job_peers` says. The trainer's
/// thread, unless a member says "any thread".
class membership final : public shared_member, public job_peers {
public:
  /// `lost_after`: for how long a coordinator may be silent.
  membership(cluster_hello me, const cluster_times& times, clock now, time lost_after)
      : shared_member(std::move(me), times, std::move(now)), lost_after_(lost_after) {}

  using shared_member::state;
  /// States something in the seat that was taken; nothing once that is lost.
  template <class Call>
  void state_in_seat(Call call) {
    state([&](member& x) {
      if (is_in_seat(x))
        call(x);
    });
  }
  void state(std::uint64_t epoch, const epoch_horizon& x) override;

  /// `keep_up` is called now and then while the trainer waits; empty: nothing is.
  void set_keeper(std::function<void()> keep_up) { keep_up_ = std::move(keep_up); }
  /// Waits for a seat and takes it; none if the job is over. Throws `errc::cluster` if there is
  /// none in time, and as check().
  std::optional<cluster_seat> take_seat(time within);
  /// The term of the seat that was taken; 0: none.
  std::uint64_t term() const noexcept { return term_; }
  /// The seat is lost, or the job or the cluster has failed. Any thread.
  bool has_changed();
  /// Throws `errc::cluster` if that is more than a lost seat.
  void check();
  /// Notes how far the trainer is, and says so at once where others wait for it.
  void move_on(const trainer_note& x);
  void made_by(const maker_note& x);
  /// Waits until `is_so`, or until the seat is lost.
  template <class IsSo>
  void wait(IsSo is_so) {
    bool is_here = false;
    const auto look = [&](const member& x) {
      is_here = answer(is_so, x);
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
  /// The member still holds the seat that was taken.
  bool is_in_seat(const member& x) const { return x.term() == term_ && x.hello().who == who_; }
  bool is_other(const member& x) const;
  /// The lease lasts, and for so long that a tick, even a late one, does not matter.
  bool is_permitted_at(std::uint64_t tick);
  void keep_up() const;
  static std::chrono::steady_clock::time_point end_of_wait();
  [[noreturn]] static void lose_patience();

  const time lost_after_;
  std::function<void()> keep_up_;
  /// The seat that was taken; 0: none.
  std::uint64_t term_ = 0;
  incarnation who_;
  /// At this version, steps of the job before `next_news_` need not be said before the next beat.
  std::uint64_t moves_on_ = 0;
  std::uint64_t next_news_ = 0;
  maker_note makers_;
  struct permit {
    std::uint64_t version = 0;
    time until{0};
    std::uint64_t step_limit = 0;
    /// As long as clock_tick() is this, the lease lasts; 0: that is not known.
    std::uint64_t tick = 0;
  } permit_;
};

} // namespace leat
