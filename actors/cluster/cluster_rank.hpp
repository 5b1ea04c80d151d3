#pragma once

#include "actors/caf/network_system.hpp"
#include "actors/cluster/listening_coordinator.hpp"
#include "actors/cluster/membership.hpp"
#include "messages/cluster/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/job/job_peers.hpp"

#include <leat/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leat {

struct cluster_rank_config {
  cluster_hello hello = {};
  cluster_times times = {};
  /// Where the coordinator is to be found now.
  std::function<network_address()> coordinator = {};
  /// The same for all loaders that look for the same one.
  std::string coordinator_name = {};
  /// Whether the job is over, as far as can be seen without a coordinator.
  std::function<bool()> is_over = {};
  /// Set if this process runs it.
  std::optional<listening_config> own_coordinator = {};
  std::chrono::nanoseconds join_within{0};
  std::chrono::nanoseconds coordinator_lost_after{0};
};

/// A rank of a job in a cluster, as its loader uses it: takes its seat, states what it has, and
/// waits for what the coordinator says. Waits throw as `job_peers` says, and `errc::cluster`. For
/// the trainer's thread, unless a member says "any thread".
/// Large because it is all that a loader says and hears.
class cluster_rank final : public job_peers {
public:
  /// Begins to look for the coordinator. Throws `errc::no_resources`, `errc::forked`, what a
  /// coordinator of its own throws, and `errc::invalid_argument` where this process has another
  /// rank of the same coordinator.
  explicit cluster_rank(cluster_rank_config config);
  /// Leaves at once: see leave().
  ~cluster_rank() override;

  /// Where the job's sets are kept, and where it wants to begin, if not at the newest.
  void want(const std::string& sets, const std::optional<job_position>& start);
  /// Waits for a seat and takes it; none if the job is over. Throws `errc::cluster` if there is
  /// none in time.
  std::optional<cluster_seat> take_seat();
  /// Waits until no other process can hold the seat.
  void wait_for_lease();
  /// The rank stands there, and hands over from there on.
  void begin(const job_position& at, std::uint64_t global_step);
  /// The seat is lost, or the job or the cluster has failed. Any thread.
  bool has_changed() const;
  /// Throws `errc::cluster` if that is more than a lost seat.
  void check() const;
  /// Between two batches: false once has_changed(). Throws as check_stored().
  bool may_go_on();
  /// Why the newest term began.
  std::string reason() const;
  std::uint64_t term() const noexcept { return term_; }

  /// The trainer saves nothing before `behind` any more, and is done with the steps before. For
  /// people: rows that were handed over in this seat, and how long it has waited for them.
  void move_on(const trainer_place& x);
  /// The rank's part of the set at that place.
  void save(const job_position& at, std::string part);
  /// The newest stored set.
  std::optional<job_position> stored() const;
  /// Throws `errc::io`, once, if a set was not stored.
  void check_stored();
  /// Waits until all that was saved is stored, or given up.
  void wait_stored();

  /// All batches were handed over.
  void finish();
  void fail(const std::string& why);
  /// Waits until all ranks have finished and all is stored.
  void wait_until_over();
  /// Lets others know that this one goes; waits for two beats at most.
  void leave() noexcept;

  void state(std::uint64_t epoch, const epoch_horizon& x) override;
  epoch_horizon wait_for_end(std::uint64_t epoch, std::uint64_t step) override;
  void wait_to_hand_over(std::uint64_t global_step) override;

private:
  void begin_actors();
  void end_actors() noexcept;
  void coordinate_again();
  /// It still holds the seat that was taken.
  bool is_in_seat(const member& x) const;
  bool is_other(const member& x) const;
  /// States something of the seat that was taken; of no use once that is lost. Any thread.
  template <class Call>
  void state_in_seat(Call call);
  bool is_lost(const member& x) const;
  bool is_permitted_at(std::uint64_t tick);
  /// Waits until it is so, or the seat is lost.
  template <class IsSo>
  void wait(IsSo is_so);

  const cluster_rank_config config_;
  /// This process's; given back when it has left, or the job is over.
  std::shared_ptr<const std::string> place_in_process_;
  network_system& on_;
  std::shared_ptr<membership> place_;
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  std::unique_ptr<listening_coordinator> own_coordinator_;
  dialer_actor dialer_;
  member_actor member_;
  /// The seat that was taken; 0: none.
  std::uint64_t term_ = 0;
  incarnation who_;
  std::uint64_t told_store_failures_ = 0;
  /// Not before.
  member::time coordinates_again_at_{0};
  /// Versions of the membership at which the rank could go on, and hand over.
  std::uint64_t goes_on_ = 0;
  /// At which this step of the job was the first to be said before the next beat.
  std::uint64_t moves_on_ = 0;
  std::uint64_t next_news_ = 0;
  struct permit {
    std::uint64_t version = 0;
    member::time until{0};
    std::uint64_t step_limit = 0;
    /// As long as clock_tick() is this, the lease lasts; 0: that is not known.
    std::uint64_t tick = 0;
  } permit_;
  bool has_finished_ = false;
  bool has_left_ = false;
};

} // namespace leat
