#pragma once

#include "messages/cluster/beat.hpp"
#include "messages/cluster/hello.hpp"
#include "messages/cluster/part.hpp"
#include "messages/cluster/word.hpp"
#include "runtime/cluster/coordinator_settings.hpp"
#include "runtime/cluster/epoch_ends.hpp"
#include "runtime/cluster/feed_rates.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// How far the trainer of a rank is.
struct trainer_note {
  /// The first place that it may still save: it is done with all batches before.
  job_position saves_from = {};
  /// The job's step at that place.
  std::uint64_t global_step = 0;
  /// For people: the rows that were handed over since it took its seat, and how long it has waited
  /// for them.
  std::uint64_t rows = 0;
  std::chrono::nanoseconds waited{0};
};

/// Who makes a rank's rows; for people, and for helpers that look for ranks.
struct maker_note {
  /// "host:port" where helpers join; empty: nowhere.
  std::string workers_at = {};
  /// Threads of the rank, and of helpers that are there.
  std::uint64_t workers = 0;
  std::uint64_t helper_cores = 0;
  /// "host:port" where feeds connect; empty: nowhere.
  std::string feeds_at = {};
  /// It serves its own sources to all ranks.
  bool serves = false;

  friend bool operator==(const maker_note&, const maker_note&) = default;
};

/// What a rank's process states to the coordinator in beats, and what the coordinator's words allow
/// it to do. A plain value, for one thread at a time; its caller gives it the time. Large because
/// it is the protocol: model and docs have a table of the same events.
class member {
public:
  using time = std::chrono::nanoseconds;
  using kept_part = std::shared_ptr<const std::string>;

  /// Only `times.beat` is used.
  member(cluster_hello me, const cluster_times& times);

  // Connections and time:
  /// A connection was made: the hello goes first, then a beat.
  void on_connected();
  /// There is no connection, and why: for people.
  void on_no_connection(std::string why) { no_connection_ = std::move(why); }
  void on_word(const cluster_word& x, time now);
  /// The job's state directory says that the job is over, and no coordinator is left to say so.
  void on_over();
  /// Time has passed, in which this process ran.
  void on_tick(time now);
  /// A process of this host that is dead for certain.
  void on_gone(const incarnation& who);
  /// The beat to be sent now, if one is due. Beats are due once per `times.beat`, and one more as
  /// soon as there is news, if no other is unanswered.
  std::optional<cluster_beat> take_beat(time now);
  /// There is something that others wait for.
  bool has_news() const noexcept { return has_news_; }
  /// The piece that the coordinator has asked for.
  std::optional<cluster_part> take_piece() { return std::exchange(seated_.piece, std::nullopt); }

  // The trainer's side:
  /// Where the job's sets are kept, and where it wants to begin.
  void want(std::string sets, std::optional<job_position> start);
  /// The set that the seat's term began with is loaded: batches follow from there.
  void begin(const job_position& at, std::uint64_t global_step);
  void move_on(const trainer_note& x);
  void made_by(const maker_note& x);
  /// What feeds have given the rank so far; rates are measured here.
  void fed_by(std::vector<feed_progress> x) { fed_.note(std::move(x)); }
  /// A feed offers these records. They are stated if none were offered under that name before.
  void claim(const feed_claim& x);
  /// The records that serve the job under this name; null as long as that is open.
  const feed_claim* decided_feed(const std::string& name) const;
  /// Where the ranks of its term let feeds in, as far as they have said so; for a process that
  /// serves them.
  const std::vector<fed_rank>& fed_ranks() const noexcept { return seated_.fed_ranks; }
  /// Likewise: another process is rank 0.
  bool is_first_elsewhere() const noexcept { return is_first_elsewhere_; }
  /// The first step of the job at which move_on() brings something that others may wait for.
  std::uint64_t next_news() const noexcept;
  /// The rank has rows for so many batches of an epoch.
  void state(std::uint64_t epoch, const epoch_horizon& x);
  /// Keeps the rank's part of a set until it, or a newer one, is stored.
  void save(const job_position& at, kept_part part);
  /// The trainer waits until all that it has saved is stored, or given up.
  void wait_for_saved(bool waits);
  /// All batches were handed over.
  void finish();
  void fail(std::string why);
  /// The trainer leaves, whatever happens.
  void leave();
  /// The term in which it holds its seat; 0: none.
  std::uint64_t term() const noexcept { return seated_.term; }
  const cluster_seat& seat() const noexcept { return seat_; }
  /// The trainer may have the batch, or hear of the end: no other process holds its seat.
  bool may_hand_over(std::uint64_t global_step, time now) const noexcept {
    return has_lease(now) && global_step < seat_.step_limit;
  }
  /// Until when the trainer may have batches, unless another word arrives; and before which step.
  time lease_until() const noexcept { return seated_.lease_until; }
  std::uint64_t step_limit() const noexcept { return seat_.step_limit; }
  bool has_lease(time now) const noexcept { return term() != 0 && now < lease_until(); }
  /// What is known of an epoch of unknown length.
  epoch_horizon known(std::uint64_t epoch) const;
  /// What has failed, in any rank; empty: nothing.
  const std::string& failure() const noexcept { return seated_.failure; }
  /// The failure is this process's own, and perhaps nobody has heard of it yet.
  bool has_failed_unheard() const noexcept {
    return seated_.is_own_failure && !seated_.is_failure_heard;
  }
  const std::string& refused() const noexcept { return refused_; }
  bool is_over() const noexcept { return is_over_; }
  const std::optional<job_position>& stored() const noexcept { return stored_; }
  /// So many of the sets that are stored stay; 0: that is not known yet.
  std::uint64_t keep() const noexcept { return keep_; }
  std::uint64_t store_failures() const noexcept { return store_failures_; }
  const std::string& store_failure() const noexcept { return store_failure_; }
  const std::string& waits_for() const noexcept { return waits_for_; }
  const std::string& no_connection() const noexcept { return no_connection_; }
  const std::string& reason() const noexcept { return reason_; }
  /// Where a coordinator that was replaced has said that the newer one is; empty: none was.
  const std::string& moved_to() const noexcept { return moved_to_; }
  /// How long no word was heard while this process ran: not while it, or its machine, was stopped.
  time silence() const noexcept { return silence_; }
  /// How long it has had its seat without a lease while this process ran: the coordinator may
  /// answer, but not promise anything.
  time without_lease() const noexcept { return without_lease_; }
  /// When a word was heard last; none yet: nothing.
  const std::optional<time>& heard() const noexcept { return heard_; }
  bool is_done() const noexcept { return seated_.is_finished && saved().empty(); }
  const std::map<job_position, kept_part>& saved() const noexcept { return seated_.saved; }
  const std::vector<std::pair<incarnation, process_identity>>& neighbours() const noexcept {
    return neighbours_;
  }
  const cluster_hello& hello() const noexcept { return hello_; }

private:
  void sit(const cluster_word& x);
  void let_go();
  void hear_stored(const cluster_word& x);
  void give_piece(const cluster_word& x);
  bool is_due(time now) const;
  bool must_say(std::uint64_t epoch) const;
  void measure(time now);

  /// What belongs to one term.
  struct in_term {
    /// 0: it has no seat.
    std::uint64_t term = 0;
    time lease_until{0};
    epoch_ends::horizons known;
    epoch_ends::horizons stated;
    epoch_ends::horizons said;
    trainer_note trainer;
    /// The set that the term began with is loaded.
    bool has_begun = false;
    std::map<job_position, kept_part> saved;
    std::optional<job_position> target;
    std::optional<cluster_part> piece;
    bool waits_for_saved = false;
    bool is_finished = false;
    bool has_said_done = false;
    std::uint64_t said_step = 0;
    std::string failure;
    bool is_own_failure = false;
    bool is_failure_heard = false;
    std::vector<fed_rank> fed_ranks;
    // For people:
    /// When its pace was measured last, and how far the trainer was then.
    std::optional<time> measured;
    trainer_note measured_at;
    std::uint64_t hunger = 0;
    std::uint64_t rows_per_second = 0;
  };

  cluster_hello hello_;
  cluster_times times_;
  std::uint64_t life_ = 0;
  std::uint64_t number_ = 0;
  /// Beats that no word has answered yet.
  std::map<std::uint64_t, time> sent_;
  std::optional<time> last_sent_;
  /// The newest beat that a word about its seat has answered.
  std::uint64_t heard_echo_ = 0;
  std::optional<time> heard_;
  time silence_{0};
  time without_lease_{0};
  std::optional<time> last_tick_;
  /// Something has changed that others wait for.
  bool has_news_ = true;
  std::string sets_;
  std::optional<job_position> wanted_start_;
  std::vector<incarnation> gone_;
  bool is_leaving_ = false;
  maker_note makers_;
  feed_rates fed_;
  /// By name: those that serve the job, or else those that were offered first.
  std::map<std::string, feed_claim> feeds_;
  std::set<std::string> decided_feeds_;

  in_term seated_;
  /// The last seat that it had.
  cluster_seat seat_;

  // What was heard:
  std::string refused_;
  bool is_first_elsewhere_ = false;
  bool is_over_ = false;
  std::optional<job_position> stored_;
  std::uint64_t keep_ = 0;
  std::uint64_t store_failures_ = 0;
  std::string store_failure_;
  std::string waits_for_;
  std::string no_connection_;
  std::string reason_;
  std::string moved_to_;
  std::vector<std::pair<incarnation, process_identity>> neighbours_;
};

} // namespace leat
