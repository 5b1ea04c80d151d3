// Terms: when one begins and ends, who holds its seats.

#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/waiting_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace leat {

namespace {

/// Beginnings that a refusal names.
constexpr std::size_t most_places = 8;
/// Processes of a host that look at once when one more may have ended there: one of them may hang.
constexpr std::size_t least_lookers = 2;

coordinator_state::seat seat_of(const cluster_process& x) {
  return {.holder = x.beat.who, .process = x.hello.process};
}

std::string start_text(const cluster_beat& x) {
  const auto place = x.start ? place_text(x.start) : "the newest set";
  return x.sets.empty() ? "the beginning, without a restore()" : place + " in " + x.sets;
}

/// "rank 3", "ranks 0, 1, 2, 3 and 508 more".
std::string ranks_text(const std::vector<std::uint64_t>& ranks) {
  constexpr std::size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return ranks.size() > most ? text + " and " + std::to_string(ranks.size() - most) + " more"
                             : text;
}

std::optional<std::vector<coordinator_state::seat>>
numbered_seats(const std::vector<const cluster_process*>& waiting) {
  const auto world = waiting.front()->hello.rules.world_size;
  std::vector<coordinator_state::seat> seats(world);
  std::vector<bool> is_taken(world);
  std::uint64_t taken = 0;
  for (const auto* x : waiting) {
    if (!x->hello.rank || is_taken[*x->hello.rank])
      continue;
    is_taken[*x->hello.rank] = true;
    seats[*x->hello.rank] = seat_of(*x);
    ++taken;
  }
  return taken == world ? std::optional{std::move(seats)} : std::nullopt;
}

/// The most ranks that an elastic job can have with so many processes; 0: they are too few.
std::uint64_t largest_world(std::size_t candidates, const cluster_hello& job) {
  for (auto world = std::min<std::uint64_t>(candidates, job.rules.most_ranks);
       world >= std::max<std::uint64_t>(1, job.rules.least_ranks); --world)
    if (job.lanes == 0 || job.lanes % world == 0)
      return world;
  return 0;
}

} // namespace

// -- what time does

void coordinator::tick(time now) {
  if (has_ended_)
    return;
  if (const auto newest = memory_.newest_life(); newest != life_)
    return newest > life_ ? give_way() : give_up();
  checked_ = now;
  waiting_.reset();
  forget_others(now);
  const auto hosts = look_for_suspects(now);
  switch (state_.phase) {
  case job_phase::forming:
  case job_phase::failed:
    form(now);
    break;
  case job_phase::running:
    watch(now);
    break;
  case job_phase::over:
    linger(now);
    break;
  }
  if (has_news_ || has_risen_)
    say_all(now);
  else
    say_to_lookers(hosts, now);
}

/// Begins a term once there are enough ranks, and nobody can believe any more that it holds a seat
/// of the term before.
void coordinator::form(time now) {
  if (sets_.is_storing())
    return; // it is not certain where the next term begins
  const bool all_free = std::all_of(state_.seats.begin(), state_.seats.end(),
                                    [&](const auto& x) { return is_free(x.holder, now); });
  if (!all_free)
    return;
  if (auto seats = new_seats(now))
    begin_term(std::move(*seats), now);
}

/// The processes that wait, and train on the same as the first of them.
std::vector<const cluster_process*> coordinator::candidates(time now) const {
  std::vector<const cluster_process*> all;
  for (const auto& [connection, x] : processes_.all())
    if (is_waiting(x, now) && (all.empty() || all.front()->work == x.work))
      all.push_back(&x);
  return all;
}

std::optional<std::vector<coordinator_state::seat>> coordinator::new_seats(time now) const {
  const auto waiting = candidates(now);
  if (waiting.empty())
    return std::nullopt;
  const auto& rules = waiting.front()->hello.rules;
  if (!rules.is_elastic())
    return numbered_seats(waiting);
  time newest{std::numeric_limits<time::rep>::min()};
  for (const auto* x : waiting)
    newest = std::max(newest, x->wants_since);
  const auto world = largest_world(waiting.size(), waiting.front()->hello);
  const bool all_are_there = waiting.size() >= rules.most_ranks;
  if (world == 0 || (!all_are_there && now - newest < settings_.times.last_call))
    return std::nullopt;
  std::vector<coordinator_state::seat> seats;
  for (std::size_t i = 0; i < world; ++i)
    seats.push_back(seat_of(*waiting[i]));
  return seats;
}

void coordinator::begin_term(std::vector<coordinator_state::seat> seats, time now) {
  const auto world = seats.size();
  const auto& first = *processes_.find(seats.front().holder);
  const auto wanted = first.beat.start;
  for (const auto& x : seats)
    if (const auto& beat = processes_.find(x.holder)->beat;
        beat.start != wanted || beat.sets != first.beat.sets)
      return refuse_starts(seats);
  const auto sets = first.beat.sets.empty() ? state_.sets : first.beat.sets;
  if (!sets.empty())
    set_directory(sets);
  const auto start = wanted ? wanted : sets_.stored();
  sets_.begin_term(world);
  ends_.reset();
  steps_.begin_term(world);
  unheard_.clear();
  for (std::uint64_t rank = 0; rank < world; ++rank)
    unheard_.insert(unheard_.end(), rank);
  step_limit_ = 0;
  lost_.clear();
  for (const auto& x : state_.seats)
    leases_.forget(x.holder);
  for (const auto& x : seats)
    leases_.grant(x.holder, now, time{0});
  auto state = state_;
  ++state.term;
  state.phase = job_phase::running;
  state.rules = first.hello.rules;
  state.work = first.work;
  state.sets = sets;
  state.start = start;
  state.reason = "term " + std::to_string(state.term) + ": " + std::to_string(world)
                 + (world == 1 ? " rank" : " ranks") + " from " + place_text(start)
                 + (state_.reason.empty() ? "" : ", after: " + state_.reason);
  state.seats = std::move(seats);
  write(std::move(state));
  output_.log.push_back(state_.reason);
  formed_ = now;
  has_news_ = true;
}

/// Refuses ranks that want to begin at different places, or in different directories. Each of them
/// hears the text: so that does not grow with their number.
void coordinator::refuse_starts(const std::vector<coordinator_state::seat>& seats) {
  std::map<std::string, std::vector<std::uint64_t>> places;
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    places[start_text(processes_.find(seats[rank].holder)->beat)].push_back(rank);
  std::string text = "ranks want to begin at different places:";
  std::size_t named = 0;
  for (const auto& [place, ranks] : places)
    if (named++ < most_places)
      text += "\n  " + ranks_text(ranks) + ": " + place;
  if (named > most_places)
    text += "\n  others: at " + std::to_string(named - most_places) + " more places";
  for (auto& [connection, x] : processes_.all())
    if (x.refused.empty())
      x.refused = text;
  output_.log.push_back("refused: " + text);
  has_news_ = true;
}

/// Has all ranks let go of their seats.
void coordinator::stop_term(const std::string& reason) {
  auto state = state_;
  state.phase = job_phase::forming;
  state.reason = reason;
  write(std::move(state));
  output_.log.push_back("term " + std::to_string(state_.term) + " ends: " + reason);
  if (!sets_.is_storing())
    sets_.restart();
  has_news_ = true;
}

void coordinator::watch(time now) {
  if (end_if_done())
    return;
  collect();
  if (state_.rules->lets_ranks_come_back())
    let_come_back(now);
  watch_losses(now);
  if (state_.phase == job_phase::running)
    give_way_to_others(now);
  if (state_.phase == job_phase::running && state_.rules->is_elastic())
    make_room_for_more(now);
}

/// If more ranks wait, ends the term right after a set was stored: going back to that loses
/// nothing.
void coordinator::make_room_for_more(time now) {
  if (!sets_.stored() || sets_.stored() == state_.start || sets_.is_storing()
      || now - formed_ <= 2 * settings_.times.lost)
    return;
  const auto waiting = candidates(now);
  const auto world = state_.seats.size();
  if (!waiting.empty() && largest_world(world + waiting.size(), waiting.front()->hello) > world)
    stop_term(std::to_string(waiting.size())
              + (waiting.size() == 1 ? " more rank waits" : " more ranks wait"));
}

bool coordinator::end_if_done() {
  const auto all = members();
  const bool done =
      all.size() == state_.seats.size()
      && std::all_of(all.begin(), all.end(), [](const auto& x) { return x.second->beat.is_done; });
  if (!done)
    return false;
  auto state = state_;
  state.phase = job_phase::over;
  state.reason = "all batches were handed over";
  write(std::move(state));
  output_.log.push_back("the job is over: " + state_.reason);
  has_news_ = true;
  return true;
}

/// Gives ranks whose former holders are certainly gone to the processes that want them.
void coordinator::let_come_back(time now) {
  if (sets_.is_storing())
    return; // a set with a part of the former life could be ahead of the new one
  auto state = state_;
  std::vector<std::uint64_t> ranks;
  for (const auto& [connection, x] : processes_.all()) {
    if (!is_waiting(x, now) || !x.hello.rank || x.work != state.work)
      continue;
    const auto rank = *x.hello.rank;
    if (rank >= state.seats.size() || state.seats[rank].holder == x.beat.who
        || !is_free(state.seats[rank].holder, now))
      continue;
    leases_.forget(state.seats[rank].holder);
    leases_.grant(x.beat.who, now, time{0});
    state.seats[rank] = seat_of(x);
    state.seats[rank].has_come_back = true;
    ranks.push_back(rank);
    state.reason =
        ranks_text(ranks) + " came back" + (ranks.size() == 1 ? " as " + name_of(x) : "");
  }
  if (ranks.empty())
    return;
  write(std::move(state)); // once, however many have come
  output_.log.push_back("term " + std::to_string(state_.term) + ": " + state_.reason);
  for (const auto rank : ranks) {
    lost_.erase(rank);
    steps_.forget(rank);
  }
  sets_.restart();
  has_news_ = true;
}

/// If all ranks are lost, and others want to train on something else, lets them: none of them would
/// ever take a seat of this term.
void coordinator::give_way_to_others(time now) {
  const auto waiting = candidates(now);
  if (waiting.empty() || waiting.front()->work == state_.work
      || now - began_ < 2 * settings_.times.lost)
    return;
  if (std::all_of(state_.seats.begin(), state_.seats.end(),
                  [&](const auto& x) { return is_lost(x.holder, now); }))
    stop_term("all ranks are lost, and others have come");
}

void coordinator::watch_losses(time now) {
  // Members must have had the time to find a new coordinator, and to take their seats.
  const auto& times = settings_.times;
  const bool is_early = now - began_ < 2 * times.lost || now - formed_ < times.lost;
  const bool goes_back = !state_.rules->lets_ranks_come_back();
  for (std::uint64_t rank = 0; rank < state_.seats.size(); ++rank) {
    const auto& holder = state_.seats[rank].holder;
    if (!(is_early ? is_gone(holder) : is_lost(holder, now))) {
      lost_.erase(rank);
      continue;
    }
    const auto since = lost_.try_emplace(rank, now).first->second;
    if (goes_back || now - since > times.rejoin_within)
      return stop_term("rank " + std::to_string(rank) + " is lost");
  }
}

/// Stays for a while once the job is over: others must hear how it ended.
void coordinator::linger(time now) {
  const auto& times = settings_.times;
  const bool all_know =
      std::all_of(processes_.all().begin(), processes_.all().end(), [&](const auto& x) {
        return x.second.is_closed || !x.second.refused.empty()
               || now - x.second.heard > times.linger;
      });
  // A coordinator that has begun after the end waits for processes that start late.
  if (all_know && (!processes_.all().empty() || now - began_ > times.linger))
    retire();
}

// -- what is known

const cluster_process* coordinator::holder_of(std::uint64_t rank) const {
  const auto& holder = state_.seats[rank].holder;
  const auto* x = processes_.find(holder);
  const bool counts = x && x->refused.empty() && x->beat.who == holder;
  return counts && x->beat.term == state_.term ? x : nullptr;
}

std::vector<std::pair<std::uint64_t, const cluster_process*>> coordinator::members() const {
  std::vector<std::pair<std::uint64_t, const cluster_process*>> all;
  for (std::uint64_t rank = 0; rank < state_.seats.size(); ++rank)
    if (const auto* x = holder_of(rank))
      all.emplace_back(rank, x);
  return all;
}

bool coordinator::is_lost(const incarnation& holder, time now) const {
  const auto* x = processes_.find(holder);
  if (!x || x->who() != holder || x->beat.is_leaving || !x->refused.empty())
    return true;
  return now - x->heard > (x->is_closed ? settings_.times.lost_unconnected : settings_.times.lost);
}

bool coordinator::is_present(const cluster_process& x, time now) const {
  return x.refused.empty() && !x.is_closed && !x.beat.is_leaving
         && now - x.heard <= settings_.times.lost;
}

bool coordinator::is_waiting(const cluster_process& x, time now) const {
  return x.wants_seat() && !is_lost(x.beat.who, now);
}

/// The holder has let go of the seat, or is known to be dead.
bool coordinator::is_gone(const incarnation& holder) const {
  const auto* x = processes_.find(holder);
  if (x && (x->beat.who.let_go > holder.let_go || x->beat.is_leaving))
    return true;
  return dead_.contains(number_of(holder));
}

/// Nobody can hand over batches in its place: the holder is gone, or its lease has run out by any
/// clock.
bool coordinator::is_free(const incarnation& holder, time now) const {
  return is_gone(holder) || leases_.has_run_out(holder, now);
}

/// The limit does not move until all ranks of the term have said where they stand.
std::uint64_t coordinator::step_limit() const {
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  if (!state_.rules || !state_.rules->lets_ranks_come_back())
    return none;
  const auto least = steps_.least();
  if (!least)
    return step_limit_;
  return *least > none - state_.rules->run_ahead ? none : *least + state_.rules->run_ahead;
}

std::optional<job_rules> coordinator::rules() const {
  if (state_.phase == job_phase::running)
    return state_.rules;
  for (const auto& [connection, x] : processes_.all())
    if (x.wants_seat() && !x.is_closed)
      return x.hello.rules;
  return state_.rules;
}

/// Collects holders of seats that may have ended, for processes of their hosts to look. One that is
/// heard needs no look.
std::set<host_key> coordinator::look_for_suspects(time now) {
  const auto before = std::exchange(suspects_, {});
  std::set<process_number> dead;
  for (const auto& seat : state_.seats) {
    const auto* x = processes_.find(seat.holder);
    if (dead_.contains(number_of(seat.holder)))
      dead.insert(number_of(seat.holder));
    else if (!x || x->is_closed || now - x->heard > settings_.times.lost_unconnected)
      suspects_[host_of(seat.process)].emplace_back(seat.holder, seat.process);
  }
  dead_ = std::move(dead);
  const auto is_less = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::set<host_key> have_more;
  for (auto& [host, all] : suspects_) {
    std::sort(all.begin(), all.end(), is_less);
    const auto old = before.find(host);
    if (old == before.end()
        || !std::includes(old->second.begin(), old->second.end(), all.begin(), all.end(), is_less))
      have_more.insert(host);
  }
  return have_more;
}

void coordinator::say_to_lookers(const std::set<host_key>& hosts, time now) {
  if (hosts.empty())
    return;
  std::map<host_key, std::size_t> wanted;
  for (const auto& host : hosts)
    wanted[host] = least_lookers + suspects_[host].size() / most_suspects;
  step_limit_ = step_limit();
  for (const auto& [connection, x] : processes_.all())
    if (const auto more = wanted.find(host_of(x.hello.process));
        more != wanted.end() && more->second > 0 && x.beat.number > 0 && is_present(x, now)) {
      --more->second;
      say(x, now);
    }
}

/// Forgets processes that have been silent for long, or whose connections are closed, except those
/// that hold seats of a running term.
void coordinator::forget_others(time now) {
  const bool is_running = state_.phase == job_phase::running || state_.phase == job_phase::over;
  processes_.forget([&](const cluster_process& x) {
    const bool is_silent = now - x.heard > 2 * settings_.times.lease;
    return (is_silent || x.is_closed)
           && !(seats_.holds_seat(x.hello.who) && (is_running || !is_silent));
  });
}

void coordinator::collect() {
  // A rank that is done saves nothing more, not even at the job's end.
  constexpr job_position beyond{std::numeric_limits<std::uint64_t>::max(), 0};
  std::vector<kept_parts> kept;
  for (const auto& [rank, x] : members())
    kept.push_back({rank, x->beat.is_done ? beyond : x->beat.saves_from, &x->beat.saved,
                    x->beat.waits_for_saved});
  has_news_ = sets_.choose(kept) || has_news_;
}

} // namespace leat
