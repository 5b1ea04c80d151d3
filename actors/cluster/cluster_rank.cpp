#include "actors/cluster/cluster_rank.hpp"

#include "actors/cluster/dialer.hpp"
#include "actors/cluster/member.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/cluster/boot_clock.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <caf/send.hpp>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

namespace leat {

namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

/// The member wakes who waits four times a beat; this is for a member that does not.
constexpr std::chrono::seconds look_again_after{1};
constexpr std::chrono::seconds actors_end_within{10};
/// A tick of the clock may be late where the machine is a guest of another, which lets it wait.
constexpr std::chrono::milliseconds late_tick{500};

member::time boot_time() {
  return member::time{boot_clock_ns()};
}

[[noreturn]] void refuse(std::string got, std::string needed, std::vector<std::string> list = {}) {
  throw error(errc::cluster, {.stage = "cluster",
                              .got = std::move(got),
                              .needed = std::move(needed),
                              .list = std::move(list)});
}

std::string seconds_text(std::chrono::nanoseconds x) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(x).count()) + " s";
}

/// A first line, and the others.
std::pair<std::string, std::vector<std::string>> lines_of(const std::string& text) {
  std::pair<std::string, std::vector<std::string>> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    auto line = text.substr(begin, end - begin);
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    if (begin == 0)
      lines.first = std::move(line);
    else
      lines.second.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

/// A process is one rank of a job: two would be taken for each other, by pid, and one of them could
/// not connect to a coordinator in its own process. Held as long as the rank is there. Any thread.
std::shared_ptr<const std::string> take_place(const std::string& coordinator) {
  static mutex guard;
  static std::map<std::string, std::weak_ptr<const std::string>> places;
  const mutex_lock lock{guard};
  auto& place = places[coordinator];
  if (!place.expired())
    refuse_argument("cluster", "a second loader of the job at " + coordinator + " in this process",
                    "one loader of the job in each process; one that does not belong to the job, "
                    "such as that of a validation, without a cluster");
  auto taken = std::make_shared<const std::string>(coordinator);
  place = taken;
  return taken;
}

/// A rank that has lost one of its actors can neither hear nor say anything.
failure_handler rank_failure(const std::shared_ptr<membership>& place) {
  return [place](const error& x) noexcept {
    std::string text{"no more memory"}; // so short that it needs none
    try {
      text = x.what();
    } catch (const std::bad_alloc&) {
    }
    place->hear([&](member& to, member::time) {
      if (to.term() == 0)
        to.on_no_connection(std::move(text)); // told if no other connection is made in time
      else
        to.fail(std::move(text));
    });
  };
}

/// Until then, or until the caller is to be asked.
steady_clock::time_point end_of_wait() {
  return std::min(steady_clock::now() + look_again_after, end_of_patience());
}

} // namespace

cluster_rank::cluster_rank(cluster_rank_config config)
    : config_(std::move(config)), place_in_process_(take_place(config_.coordinator_name)),
      on_(network_system::of_process()),
      place_(std::make_shared<membership>(config_.hello, config_.times, boot_time)) {
  if (config_.own_coordinator)
    own_coordinator_ = std::make_unique<listening_coordinator>(on_, *config_.own_coordinator);
  try {
    begin_actors();
  } catch (...) {
    end_actors();
    throw;
  }
}

cluster_rank::~cluster_rank() {
  leave();
  end_actors();
  // The others of the job hear how it has ended, or what differs: without a coordinator they would
  // wait for another one.
  const bool is_refused =
      place_->look([](const member& x, member::time) { return !x.refused().empty(); });
  if (own_coordinator_ && (has_finished_ || is_refused))
    own_coordinator_->wait_for_end(config_.times.linger + 2 * config_.times.beat);
}

void cluster_rank::begin_actors() {
  const logger_release released;
  const auto failed = rank_failure(place_);
  dialer_ =
      spawn_in_thread(on_.system(), on_.threads(), "dialer", failed, dialer, gate_token{lives_});
  member_config config{.place = place_,
                       .coordinator = config_.coordinator,
                       .is_over = config_.is_over,
                       .dialer = dialer_,
                       .beat = config_.times.beat};
  if (own_coordinator_)
    config.local = own_coordinator_->handle();
  // A thread of its own: it looks into the state directory.
  member_ = spawn_in_thread(on_.system(), on_.threads(), "member", failed, member_shell, config,
                            gate_token{lives_});
  place_->set_speaker([to = member_] { caf::anon_send(to, say_atom_v); });
}

void cluster_rank::end_actors() noexcept {
  place_->set_speaker({});
  if (member_)
    caf::anon_send_exit(member_, caf::exit_reason::user_shutdown);
  if (dialer_)
    caf::anon_send_exit(dialer_, caf::exit_reason::user_shutdown);
  member_ = nullptr;
  dialer_ = nullptr;
  (void)lives_->wait_for_none(actors_end_within);
}

// -- the seat

bool cluster_rank::is_lost(const member& x) const {
  return std::max(x.silence(), x.without_lease()) > config_.coordinator_lost_after;
}

bool cluster_rank::is_in_seat(const member& x) const {
  return x.term() == term_ && x.hello().who == who_;
}

bool cluster_rank::is_other(const member& x) const {
  return !is_in_seat(x) || !x.failure().empty() || !x.refused().empty() || is_lost(x);
}

template <class Call>
void cluster_rank::state_in_seat(Call call) {
  place_->state([&](member& x) {
    if (is_in_seat(x))
      call(x);
  });
}

bool cluster_rank::has_changed() const {
  return term_ != 0 && place_->look([&](const member& x, member::time) { return is_other(x); });
}

/// Another process has taken over from this one's coordinator, and has gone: nobody would go on.
void cluster_rank::coordinate_again() {
  if (!config_.own_coordinator || (own_coordinator_ && !own_coordinator_->has_ended()))
    return;
  const auto now = boot_time();
  const bool is_gone = place_->look([&](const member& x, member::time) {
    return x.silence() > config_.times.lost && !x.is_over();
  });
  if (!is_gone || now < coordinates_again_at_ || (config_.is_over && config_.is_over()))
    return;
  coordinates_again_at_ = now + config_.times.lost;
  end_actors();
  own_coordinator_ = nullptr; // closes its port
  try {
    own_coordinator_ = std::make_unique<listening_coordinator>(on_, *config_.own_coordinator);
  } catch (const error& x) {
    notice(std::string{"cluster: "} + x.what());
  }
  begin_actors();
}

bool cluster_rank::may_go_on() {
  const auto version = place_->version();
  if (version == goes_on_)
    return true;
  coordinate_again();
  if (has_changed())
    return false;
  check_stored();
  goes_on_ = version;
  return true;
}

template <class IsSo>
void cluster_rank::wait(IsSo is_so) {
  for (;;) {
    bool is_here = false;
    const auto look = [&](const member& x, member::time now) {
      is_here = is_so(x, now);
      return is_here || is_other(x);
    };
    if (place_->wait_until(look, end_of_wait())) {
      if (is_here)
        return;
      throw patience_ended{};
    }
    check_patience();
    coordinate_again();
  }
}

void cluster_rank::want(const std::string& sets, const std::optional<job_position>& start) {
  place_->state([&](member& x) { x.want(sets, start); });
}

std::optional<cluster_seat> cluster_rank::take_seat() {
  const auto give_up_at = boot_time() + config_.join_within;
  term_ = 0;
  goes_on_ = 0;
  moves_on_ = 0;
  permit_ = {};
  for (;;) {
    std::optional<cluster_seat> seat;
    bool is_over = false;
    const auto look = [&](const member& x, member::time now) {
      is_over = x.is_over();
      if (x.term() != 0 && x.has_lease(now)) {
        seat = x.seat();
        term_ = x.term();
        who_ = x.hello().who;
      }
      return seat || is_over || !x.refused().empty() || now > give_up_at;
    };
    if (place_->wait_until(look, end_of_wait())) {
      check();
      if (seat) {
        told_store_failures_ =
            place_->look([](const member& x, member::time) { return x.store_failures(); });
        return seat;
      }
      if (is_over)
        return std::nullopt;
      const auto text = place_->look([](const member& x, member::time) {
        if (!x.no_connection().empty() || !x.waits_for().empty())
          return x.no_connection().empty() ? x.waits_for() : x.no_connection();
        return std::string{x.heard()
                               ? "a coordinator that has given no lease"
                               : "somebody listens there who has not answered: a coordinator "
                                 "with another token (LEAT_CLUSTER_TOKEN), or one that hangs"};
      });
      const auto [first, others] = lines_of(text);
      refuse("no seat within " + seconds_text(config_.join_within) + ": " + first,
             "all ranks, and a coordinator that they can reach: a process of rank 0 that has a "
             "state directory (LEAT_CLUSTER_STATE), or `leat coordinator`",
             others);
    }
    check_patience();
    coordinate_again();
  }
}

void cluster_rank::wait_for_lease() {
  wait([](const member& x, member::time now) { return x.has_lease(now); });
}

void cluster_rank::begin(const job_position& at, std::uint64_t global_step) {
  state_in_seat([&](member& x) { x.begin(at, global_step); });
}

void cluster_rank::check() const {
  std::string refused;
  std::string failure;
  std::string no_connection;
  bool is_silent = false;
  const bool is_lost = place_->look([&](const member& x, member::time) {
    refused = x.refused();
    failure = x.failure();
    no_connection = x.no_connection();
    is_silent = x.silence() > config_.coordinator_lost_after;
    return term_ != 0 && this->is_lost(x);
  });
  if (!refused.empty()) {
    const auto [first, others] = lines_of(refused);
    refuse("a coordinator that refuses this process: " + first,
           "the same job in all processes, each rank once", others);
  }
  if (!failure.empty())
    refuse("a failure of the job: " + failure, "all ranks running");
  const auto limit = seconds_text(config_.coordinator_lost_after);
  if (is_lost && is_silent)
    refuse("no word from the coordinator for " + limit
               + (no_connection.empty() ? "" : ": " + no_connection),
           "a coordinator; another one may take over its state directory");
  if (is_lost)
    refuse("a coordinator that answers, and has let no rank go on for " + limit,
           "a state directory that it can read and write: see its notices");
}

std::string cluster_rank::reason() const {
  return place_->look([](const member& x, member::time) { return x.reason(); });
}

// -- batches

void cluster_rank::move_on(const trainer_place& x) {
  place_->note_place({term_, who_.let_go}, x);
  if (moves_on_ == place_->version() && x.global_step < next_news_)
    return;
  place_->state([&](member& to) {
    moves_on_ = place_->version(); // nobody changes it now
    next_news_ = to.next_news();
  });
}

void cluster_rank::state(std::uint64_t epoch, const epoch_horizon& x) {
  state_in_seat([&](member& to) { to.state(epoch, x); });
}

epoch_horizon cluster_rank::wait_for_end(std::uint64_t epoch, std::uint64_t step) {
  epoch_horizon known;
  wait([&](const member& x, member::time) {
    known = x.known(epoch);
    return known.is_final || known.batches > step + 1;
  });
  return known;
}

/// The lease lasts, and for so long that a tick, even a late one, does not matter.
bool cluster_rank::is_permitted_at(std::uint64_t tick) {
  const auto now = boot_time();
  permit_.tick = now + late_tick < permit_.until ? tick : 0;
  return now < permit_.until;
}

void cluster_rank::wait_to_hand_over(std::uint64_t global_step) {
  const auto tick = clock_tick();
  if (permit_.version == place_->version() && global_step < permit_.step_limit
      && (tick == permit_.tick || is_permitted_at(tick)))
    return;
  permit_.tick = 0;
  wait([&](const member& x, member::time now) {
    if (is_other(x) || !x.may_hand_over(global_step, now))
      return false;
    // Nobody changes it now.
    permit_ = {place_->version(), x.lease_until(), x.step_limit(), 0};
    return true;
  });
}

// -- sets

void cluster_rank::save(const job_position& at, std::string part) {
  auto bytes = std::make_shared<const std::string>(std::move(part));
  state_in_seat([&](member& x) { x.save(at, std::move(bytes)); });
}

std::optional<job_position> cluster_rank::stored() const {
  return place_->look([](const member& x, member::time) { return x.stored(); });
}

void cluster_rank::check_stored() {
  std::optional<std::string> why;
  place_->look([&](const member& x, member::time) {
    if (x.store_failures() <= told_store_failures_)
      return;
    told_store_failures_ = x.store_failures();
    why = x.store_failure();
  });
  if (!why)
    return;
  throw error(errc::io, {.stage = "save",
                         .got = "a set that was not stored: " + *why,
                         .needed = "a directory that the coordinator can write to"});
}

void cluster_rank::wait_stored() {
  const auto wait_for_saved = [&](bool waits) {
    state_in_seat([&](member& x) { x.wait_for_saved(waits); });
  };
  wait_for_saved(true);
  try {
    wait([](const member& x, member::time) { return x.saved().empty(); });
  } catch (...) {
    wait_for_saved(false);
    throw;
  }
  wait_for_saved(false);
}

// -- the end

void cluster_rank::finish() {
  has_finished_ = true;
  state_in_seat([](member& x) { x.finish(); });
}

void cluster_rank::fail(const std::string& why) {
  state_in_seat([&](member& x) { x.fail(why); });
}

void cluster_rank::wait_until_over() {
  // A coordinator that has told all others goes: one that was stopped meanwhile does not hear it.
  wait([&](const member& x, member::time) {
    return x.is_over() || (x.is_done() && x.silence() > config_.coordinator_lost_after);
  });
  place_in_process_ = nullptr;
}

void cluster_rank::leave() noexcept {
  if (std::exchange(has_left_, true))
    return;
  place_in_process_ = nullptr;
  try {
    const auto deadline = steady_clock::now() + 2 * config_.times.beat;
    // Otherwise nobody may ever learn why it went.
    (void)place_->wait_until(
        [](const member& x, member::time) {
          return x.term() == 0 || !x.has_failed_unheard() || !x.no_connection().empty();
        },
        deadline);
    const auto before = boot_time();
    place_->state([](member& x) { x.leave(); });
    (void)place_->wait_until(
        [&](const member& x, member::time) {
          return x.is_over() || !x.no_connection().empty() || x.heard().value_or(before) > before;
        },
        deadline);
  } catch (...) { // out of memory: others find out by its silence
    return;
  }
}

} // namespace leat
