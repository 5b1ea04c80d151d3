#include "actors/cluster/membership.hpp"

#include "runtime/base/threads/patience.hpp"
#include "runtime/cluster/boot_clock.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace leat {

namespace {

/// The member actor wakes waiting threads four times per beat; this is for one that does not.
constexpr std::chrono::seconds look_again_after{1};
/// A tick of the clock may be late in a virtual machine that its host does not run.
constexpr std::chrono::milliseconds late_tick{500};

[[noreturn]] void refuse(std::string got, std::string needed, std::vector<std::string> list = {}) {
  throw error(errc::cluster, {.stage = "cluster",
                              .got = std::move(got),
                              .needed = std::move(needed),
                              .list = std::move(list)});
}

std::string seconds_text(std::chrono::nanoseconds x) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(x).count()) + " s";
}

/// Splits off the first line.
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

} // namespace

/// When to look again: after `look_again_after`, or when the caller's patience is to be asked.
std::chrono::steady_clock::time_point membership::end_of_wait() {
  return std::min(std::chrono::steady_clock::now() + look_again_after, end_of_patience());
}

void membership::keep_up() const {
  check_patience();
  if (keep_up_)
    keep_up_();
}

void membership::lose_patience() {
  throw patience_ended{};
}

// -- the seat

bool membership::is_lost(const member& x) const {
  return std::max(x.silence(), x.without_lease()) > lost_after_;
}

bool membership::is_other(const member& x) const {
  return !is_in_seat(x) || !x.failure().empty() || !x.refused().empty() || is_lost(x);
}

bool membership::has_changed() {
  return term_ != 0 && look([&](const member& x) { return is_other(x); });
}

std::optional<cluster_seat> membership::take_seat(time within) {
  const auto give_up_at = now() + within;
  term_ = 0;
  moves_on_ = 0;
  permit_ = {};
  for (;;) {
    std::optional<cluster_seat> seat;
    bool is_over = false;
    const auto found = [&](const member& x, member::time now) {
      is_over = x.is_over();
      if (x.term() != 0 && x.has_lease(now)) {
        seat = x.seat();
        term_ = x.term();
        who_ = x.hello().who;
      }
      return seat || is_over || !x.refused().empty() || now > give_up_at;
    };
    if (wait_until(found, end_of_wait())) {
      check();
      if (seat || is_over)
        return seat;
      const auto text = this->look([](const member& x) {
        if (!x.no_connection().empty() || !x.waits_for().empty())
          return x.no_connection().empty() ? x.waits_for() : x.no_connection();
        return std::string{x.heard()
                               ? "a coordinator that has given no lease"
                               : "somebody listens there who has not answered: a coordinator with "
                                 "another token (LEAT_CLUSTER_TOKEN), or one that hangs"};
      });
      const auto [first, others] = lines_of(text);
      refuse("no seat within " + seconds_text(within) + ": " + first,
             "all ranks, and a coordinator that they can reach: a process of rank 0 that has a "
             "state directory (LEAT_CLUSTER_STATE), or `leat coordinator`",
             others);
    }
    keep_up();
  }
}

void membership::check() {
  std::string refused;
  std::string failure;
  std::string no_connection;
  bool is_silent = false;
  const bool is_lost = look([&](const member& x) {
    refused = x.refused();
    failure = x.failure();
    no_connection = x.no_connection();
    is_silent = x.silence() > lost_after_;
    return term_ != 0 && this->is_lost(x);
  });
  if (!refused.empty()) {
    const auto [first, others] = lines_of(refused);
    refuse("a coordinator that refuses this process: " + first,
           "the same job in all processes, each rank once", others);
  }
  if (!failure.empty())
    refuse("a failure of the job: " + failure, "all ranks running");
  const auto limit = seconds_text(lost_after_);
  if (is_lost && is_silent)
    refuse("no word from the coordinator for " + limit
               + (no_connection.empty() ? "" : ": " + no_connection),
           "a coordinator; another one may take over its state directory");
  if (is_lost)
    refuse("a coordinator that answers, and has let no rank go on for " + limit,
           "a state directory that it can read and write: see its notices");
}

// -- batches

void membership::move_on(const trainer_note& x) {
  note(term_, who_.let_go, x);
  if (moves_on_ == version() && x.global_step < next_news_)
    return;
  state([&](member& to) {
    moves_on_ = version(); // the lock keeps it as it is
    next_news_ = to.next_news();
  });
}

void membership::made_by(const maker_note& x) {
  if (x == makers_)
    return;
  makers_ = x;
  state([&](member& to) { to.made_by(x); });
}

void membership::state(std::uint64_t epoch, const epoch_horizon& x) {
  state_in_seat([&](member& to) { to.state(epoch, x); });
}

epoch_horizon membership::wait_for_end(std::uint64_t epoch, std::uint64_t step) {
  epoch_horizon known;
  wait([&](const member& x) {
    known = x.known(epoch);
    return known.is_final || known.batches > step + 1;
  });
  return known;
}

bool membership::is_permitted_at(std::uint64_t tick) {
  const auto at = now();
  permit_.tick = at + late_tick < permit_.until ? tick : 0;
  return at < permit_.until;
}

void membership::wait_to_hand_over(std::uint64_t global_step) {
  const auto tick = clock_tick();
  if (permit_.version == version() && global_step < permit_.step_limit
      && (tick == permit_.tick || is_permitted_at(tick)))
    return;
  permit_.tick = 0;
  wait([&](const member& x, member::time now) {
    if (is_other(x) || !x.may_hand_over(global_step, now))
      return false;
    // The lock keeps the version as it is.
    permit_ = {version(), x.lease_until(), x.step_limit(), 0};
    return true;
  });
}

} // namespace leat
