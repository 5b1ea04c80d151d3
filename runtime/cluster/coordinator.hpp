#pragma once

#include "messages/cluster/beat.hpp"
#include "messages/cluster/hello.hpp"
#include "messages/cluster/part.hpp"
#include "messages/cluster/status.hpp"
#include "messages/cluster/word.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/cluster/coordinator_memory.hpp"
#include "runtime/cluster/coordinator_settings.hpp"
#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/epoch_ends.hpp"
#include "runtime/cluster/leases.hpp"
#include "runtime/cluster/processes.hpp"
#include "runtime/cluster/rank_steps.hpp"
#include "runtime/cluster/seat_index.hpp"
#include "runtime/cluster/set_collection.hpp"
#include "runtime/cluster/waiting_text.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// Processes that one word asks about: no word grows with the ranks of a host.
inline constexpr std::size_t most_suspects = 16;

/// What a coordinator wants to be done, in this order.
struct coordinator_output {
  struct addressed {
    source_id to = 0;
    cluster_word what;
  };

  std::vector<set_command> sets;
  std::vector<addressed> words;
  /// Lines for the log.
  std::vector<std::string> log;
};

/// Knows who holds which seat, since when and from which set; where epochs end; what has failed. It
/// has no data and no state of lanes. All messages are statements in both directions: they may be
/// lost, repeated or late.
///
/// A plain value: time is what its caller says (a clock that counts while the machine sleeps), and
/// connections are numbers that its caller gives. After each call, `take_output` has what is to be
/// sent and stored. Reads and writes the state directory inside its calls, which throw
/// `errc::io` if that fails: it then grants nothing any more, and another one may take over.
/// Messages cost O(log n) with n ranks, and a tick O(n log n): so a job costs in proportion to its
/// ranks, which tests/cluster/cluster_scale_test.cpp watches.
/// Large because it is the protocol: model and docs have a table of the same events.
class coordinator {
public:
  using time = std::chrono::nanoseconds;
  /// Where the newest set in a directory stands, if it has any. May throw `errc::io`.
  using find_newest_set = std::function<std::optional<job_position>(const std::string& directory)>;

  /// Begins the life that the directory has given.
  coordinator(const coordinator_settings& settings, const std::string& token, std::uint64_t life,
              coordinator_memory& memory, find_newest_set newest_set, time now);

  /// A rank's process says who it is; before that, messages of its connection are ignored. Nobody
  /// else hears of it, or is compared with it, before its first beat. It may say so again: one that
  /// was silent for long while a term was formed is forgotten.
  void on_hello(source_id from, const cluster_hello& x, time now);
  /// Counts unless the process is refused: then it only hears why.
  void on_beat(source_id from, const cluster_beat& x, time now);
  void on_part(source_id from, const cluster_part& x, time now);
  /// A connection was closed. That frees no seat; a process that holds none is forgotten.
  void on_closed(source_id from);
  /// Answers to `finish`; and to any command that failed.
  void on_stored(const job_position& at);
  void on_not_stored(const job_position& at, const std::string& why);
  /// To be called every half beat or so.
  void tick(time now);

  coordinator_output take_output();
  /// What the job looks like from outside.
  cluster_status status(time now) const;
  /// A newer life has begun, or all is over and everybody knows: there is nothing left to do.
  bool has_ended() const noexcept { return has_ended_; }
  /// It has ended because a newer life has begun.
  bool is_superseded() const noexcept { return is_superseded_; }
  /// It has ended because the state directory was removed.
  bool has_lost_directory() const noexcept { return has_lost_directory_; }

  const coordinator_state& state() const noexcept { return state_; }
  const cluster_processes& processes() const noexcept { return processes_; }
  const set_collection& sets() const noexcept { return sets_; }

private:
  using neighbours = std::vector<std::pair<incarnation, process_identity>>;

  // What comes in:
  void hear(const cluster_process& who, const cluster_beat& x);
  void hear(const feed_claim& x);
  void hear_ends(std::uint64_t rank, const cluster_process& who);
  void compare_with_others(cluster_process& x, time now);
  /// One that it is compared with; null: there is none.
  const cluster_process* one_to_compare_with(const cluster_process& x, time now) const;
  /// Whether the process belongs to another state directory, as far as this one tells: then its
  /// beats are ignored.
  bool is_foreign(cluster_process& x, const cluster_beat& beat);
  /// Why it could take no part whatever others are; empty: it could.
  std::string fault_of(const cluster_hello& x) const;
  // Terms:
  void form(time now);
  std::optional<std::vector<coordinator_state::seat>> new_seats(time now) const;
  std::vector<const cluster_process*> candidates(time now) const;
  void begin_term(std::vector<coordinator_state::seat> seats, time now);
  void refuse_starts(const std::vector<coordinator_state::seat>& seats);
  void stop_term(const std::string& reason);
  void watch(time now);
  bool end_if_done();
  void make_room_for_more(time now);
  void let_come_back(time now);
  void give_way_to_others(time now);
  void watch_losses(time now);
  void linger(time now);
  // What is known:
  const cluster_process* holder_of(std::uint64_t rank) const;
  std::vector<std::pair<std::uint64_t, const cluster_process*>> members() const;
  bool is_lost(const incarnation& holder, time now) const;
  /// The process is there, as far as anybody knows.
  bool is_present(const cluster_process& x, time now) const;
  bool is_gone(const incarnation& holder) const;
  bool is_free(const incarnation& holder, time now) const;
  /// The rules of the term, or of the ranks that wait for the next one; none before anybody has
  /// come.
  std::optional<job_rules> rules() const;
  /// The hosts that have new ones.
  std::set<host_key> look_for_suspects(time now);
  void forget_others(time now);
  /// Under the policy `alone`: see cluster_seat::step_limit.
  std::uint64_t step_limit() const;
  std::string what_it_waits_for(const cluster_process& x) const;
  /// The process wants a seat, and is alive.
  bool is_waiting(const cluster_process& x, time now) const;
  void collect();
  void set_directory(const std::string& sets);
  // What goes out:
  void write(coordinator_state x);
  void fail(const std::string& why);
  void say(source_id to, time now);
  void say(const cluster_process& to, time now);
  /// Asks the next rank for its part of the set that is being collected, if there is room for it.
  void ask_next(time now);
  void say_all(time now);
  /// Says what is new to everybody, if anything is, and if it is urgent or paid for.
  bool say_news(time now);
  /// Has some processes of these hosts look for suspects; others hear of them with their beats.
  void say_to_lookers(const std::set<host_key>& hosts, time now);
  neighbours suspects_for(const cluster_process& x) const;
  std::vector<fed_rank> fed_ranks() const;
  std::optional<cluster_seat> seat_for(const cluster_process& x, time now);
  void retire();
  /// Ends, because a newer life has begun.
  void give_way();
  /// Ends, because the state directory was removed: nothing can be promised any more.
  void give_up();

  coordinator_settings settings_;
  secret token_;
  std::uint64_t life_;
  coordinator_memory& memory_;
  find_newest_set newest_set_;
  /// When it began, when the directory last said that it is the newest, when the term began.
  time began_;
  time checked_;
  time formed_;
  bool has_ended_ = false;
  bool is_superseded_ = false;
  bool has_lost_directory_ = false;

  coordinator_state state_;
  /// Where the seats in `state_` are.
  seat_index seats_;
  cluster_processes processes_;
  /// A process that all others were compared with, as long as it counts; 0: none.
  source_id compared_ = 0;
  leases leases_;
  /// Holders of seats that are known to have ended.
  std::set<process_number> dead_;
  /// Holders on each host that may have ended, as of the last tick, in the order of their numbers.
  std::map<host_key, neighbours> suspects_;
  /// The records that serve the job, by the names of feeds: those of which it heard first, unless a
  /// rank knows others from a former coordinator.
  std::map<std::string, feed_claim> feeds_;
  // What belongs to one term:
  std::optional<epoch_ends> ends_;
  set_collection sets_;
  rank_steps steps_;
  std::uint64_t step_limit_ = 0;
  /// Ranks that have not said anything in this term, to this life of the coordinator.
  std::set<std::uint64_t> unheard_;
  /// Ranks that are lost, and since when.
  std::map<std::uint64_t, time> lost_;
  /// Something has changed, and every process is to hear of it.
  bool has_news_ = false;
  /// A horizon has risen. In a large job one rank after the other may raise it, and to tell all of
  /// them each time would cost the square of their number: so beats pay for these words.
  bool has_risen_ = false;
  std::size_t paid_words_ = 0;
  /// For texts. One of this half beat will do, if few have come since: there may be thousands to
  /// tell.
  mutable std::optional<waiting_survey> waiting_;
  mutable std::size_t changes_since_ = 0;
  coordinator_output output_;
  /// What it says when it has ended.
  std::vector<coordinator_output::addressed> last_words_;
};

} // namespace leat
