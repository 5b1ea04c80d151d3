// Terms: when one begins and ends, who holds its seats.

#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/waiting_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace leat {

namespace {

coordinator_state::seat seat_of(const cluster_process& x) {
  return {.holder = x.beat.who, .process = x.hello.process};
}

} // namespace

// -- what time does

void coordinator::tick(time now) {
  if (has_ended_)
    return;
  if (memory_.newest_life() != life_)
    return give_way();
  checked_ = now;
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
  if (std::exchange(has_news_, false))
    say_all(now);
}

/// Begins a term once there are enough ranks, and nobody may believe to hold a seat of the one
/// before.
void coordinator::form(time now) {
  processes_.forget(
      [&](const cluster_process& x) { return now - x.heard > 2 * settings_.times.lease; });
  if (sets_.is_storing())
    return; // where the next term begins is not certain
  const bool all_free = std::all_of(state_.seats.begin(), state_.seats.end(),
                                    [&](const auto& x) { return is_free(x.holder, now); });
  if (!all_free)
    return;
  if (auto seats = new_seats(now))
    begin_term(std::move(*seats), now);
}

std::optional<std::vector<coordinator_state::seat>> coordinator::new_seats(time now) const {
  if (!settings_.rules.is_elastic())
    return numbered_seats(now);
  std::vector<const cluster_process*> waiting;
  time newest{std::numeric_limits<time::rep>::min()};
  for (const auto& [connection, x] : processes_.all())
    if (is_waiting(x, now)) {
      waiting.push_back(&x);
      newest = std::max(newest, x.wants_since);
    }
  const auto world = largest_world(waiting.size());
  const bool all_are_there = waiting.size() >= settings_.rules.most_ranks;
  if (world == 0 || (!all_are_there && now - newest < settings_.times.last_call))
    return std::nullopt;
  std::vector<coordinator_state::seat> seats;
  for (std::size_t i = 0; i < world; ++i)
    seats.push_back(seat_of(*waiting[i]));
  return seats;
}

std::optional<std::vector<coordinator_state::seat>> coordinator::numbered_seats(time now) const {
  std::vector<coordinator_state::seat> seats(settings_.rules.world_size);
  std::vector<bool> is_taken(settings_.rules.world_size);
  std::uint64_t taken = 0;
  for (const auto& [connection, x] : processes_.all()) {
    if (!is_waiting(x, now) || !x.hello.rank || is_taken[*x.hello.rank])
      continue;
    is_taken[*x.hello.rank] = true;
    seats[*x.hello.rank] = seat_of(x);
    ++taken;
  }
  return taken == settings_.rules.world_size ? std::optional{std::move(seats)} : std::nullopt;
}

/// The most ranks that the job can have of so many; 0: too few.
std::uint64_t coordinator::largest_world(std::size_t candidates) const {
  const auto first = std::find_if(processes_.all().begin(), processes_.all().end(),
                                  [](const auto& x) { return x.second.refused.empty(); });
  const auto lanes = first == processes_.all().end() ? 0 : first->second.hello.lanes;
  for (auto world = std::min<std::uint64_t>(candidates, settings_.rules.most_ranks);
       world >= std::max<std::uint64_t>(1, settings_.rules.least_ranks); --world)
    if (lanes == 0 || lanes % world == 0)
      return world;
  return 0;
}

void coordinator::begin_term(std::vector<coordinator_state::seat> seats, time now) {
  const auto world = seats.size();
  if (!state_.sets.empty())
    set_directory(state_.sets);
  const auto wanted = processes_.find(seats.front().holder)->beat.start;
  for (const auto& x : seats)
    if (processes_.find(x.holder)->beat.start != wanted)
      return refuse_starts(seats);
  const auto start = wanted ? wanted : sets_.stored();
  sets_.begin_term(world);
  ends_.reset();
  steps_.assign(world, std::nullopt);
  step_limit_ = 0;
  lost_.clear();
  for (const auto& x : state_.seats)
    leases_.forget(x.holder);
  for (const auto& x : seats)
    leases_.grant(x.holder, now, time{0});
  auto state = state_;
  ++state.term;
  state.phase = job_phase::running;
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

/// Ranks want to begin at different places.
void coordinator::refuse_starts(const std::vector<coordinator_state::seat>& seats) {
  std::string text = "ranks want to begin at different places:";
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    text += "\n  rank " + std::to_string(rank) + ": "
            + place_text(processes_.find(seats[rank].holder)->beat.start);
  for (auto& [connection, x] : processes_.all())
    x.refused = text;
  output_.log.push_back("refused: " + text);
  has_news_ = true;
}

/// All let go of their seats.
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
  if (settings_.rules.lets_ranks_come_back())
    let_come_back(now);
  watch_losses(now);
  if (state_.phase == job_phase::running && settings_.rules.is_elastic())
    make_room_for_more(now);
}

/// More ranks wait: behind a stored set nothing is lost by going back to it.
void coordinator::make_room_for_more(time now) {
  if (!sets_.stored() || sets_.stored() == state_.start || sets_.is_storing()
      || now - formed_ <= 2 * settings_.times.lost)
    return;
  const auto waiting = std::count_if(processes_.all().begin(), processes_.all().end(),
                                     [&](const auto& x) { return is_waiting(x.second, now); });
  const auto world = state_.seats.size();
  if (waiting > 0 && largest_world(world + static_cast<std::size_t>(waiting)) > world)
    stop_term(std::to_string(waiting) + (waiting == 1 ? " more rank waits" : " more ranks wait"));
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

/// A rank whose former holder is gone for certain is given to the process that wants it.
void coordinator::let_come_back(time now) {
  if (sets_.is_storing())
    return; // a set with a part of the former life could be ahead of the new one
  for (const auto& [connection, x] : processes_.all()) {
    if (!is_waiting(x, now) || !x.hello.rank)
      continue;
    const auto rank = *x.hello.rank;
    if (rank >= state_.seats.size() || state_.seats[rank].holder == x.beat.who
        || !is_free(state_.seats[rank].holder, now))
      continue;
    auto state = state_;
    state.seats[rank] = seat_of(x);
    state.seats[rank].has_come_back = true;
    state.reason = "rank " + std::to_string(rank) + " came back as " + name_of(x);
    leases_.forget(state_.seats[rank].holder);
    leases_.grant(x.beat.who, now, time{0});
    write(std::move(state));
    output_.log.push_back("term " + std::to_string(state_.term) + ": " + state_.reason);
    lost_.erase(rank);
    steps_[rank].reset();
    sets_.restart();
    has_news_ = true;
  }
}

void coordinator::watch_losses(time now) {
  // Members must have had the time to find a new coordinator, and to take their seats.
  const auto& times = settings_.times;
  const bool is_early = now - began_ < 2 * times.lost || now - formed_ < times.lost;
  const bool goes_back = !settings_.rules.lets_ranks_come_back();
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

/// Others must hear how it ended.
void coordinator::linger(time now) {
  const auto& times = settings_.times;
  const bool all_know =
      std::all_of(processes_.all().begin(), processes_.all().end(), [&](const auto& x) {
        return x.second.is_closed || now - x.second.heard > times.linger;
      });
  // One that has begun after the end waits for those who start late.
  if (all_know && (!processes_.all().empty() || now - began_ > times.linger))
    retire();
}

// -- what is known

const cluster_process* coordinator::holder_of(std::uint64_t rank) const {
  const auto& holder = state_.seats[rank].holder;
  const auto* x = processes_.find(holder);
  return x && x->beat.who == holder && x->beat.term == state_.term ? x : nullptr;
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
  if (!x || x->beat.who != holder || x->beat.is_leaving)
    return true;
  return now - x->heard > (x->is_closed ? settings_.times.lost_unconnected : settings_.times.lost);
}

bool coordinator::is_waiting(const cluster_process& x, time now) const {
  return x.wants_seat() && !is_lost(x.beat.who, now);
}

/// The holder has let go, or is known to be dead.
bool coordinator::is_gone(const incarnation& holder) const {
  const auto* x = processes_.find(holder);
  if (x && (x->beat.who.let_go > holder.let_go || x->beat.is_leaving))
    return true;
  const auto says_it_is_gone = [&](const auto& other) {
    const auto& gone = other.second.beat.gone;
    return std::any_of(gone.begin(), gone.end(),
                       [&](const incarnation& y) { return y.is_same_process(holder); });
  };
  return std::any_of(processes_.all().begin(), processes_.all().end(), says_it_is_gone);
}

/// Nobody can hand over batches in its place: the holder is gone, or its lease has run out by any
/// clock.
bool coordinator::is_free(const incarnation& holder, time now) const {
  return is_gone(holder) || leases_.has_run_out(holder, now);
}

/// It stays where it is until all ranks of the term have said where they stand.
std::uint64_t coordinator::step_limit() const {
  constexpr auto none = std::numeric_limits<std::uint64_t>::max();
  if (!settings_.rules.lets_ranks_come_back())
    return none;
  auto least = none;
  for (const auto& step : steps_) {
    if (!step)
      return step_limit_;
    least = std::min(least, *step);
  }
  return least > none - settings_.rules.run_ahead ? none : least + settings_.rules.run_ahead;
}

void coordinator::collect() {
  // Who is done saves nothing more, not even where the job ends.
  constexpr job_position beyond{std::numeric_limits<std::uint64_t>::max(), 0};
  std::vector<kept_parts> kept;
  for (const auto& [rank, x] : members())
    kept.push_back(
        {rank, x->beat.is_done ? beyond : x->beat.behind, &x->beat.saved, x->beat.waits_for_saved});
  has_news_ = sets_.choose(kept) || has_news_;
}

} // namespace leat
