#include "runtime/cluster/coordinator.hpp"

#include "runtime/base/text.hpp"
#include "runtime/cluster/waiting_text.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Words about horizons that each beat pays for. In lock step the least of n numbers rises some
/// ln(n) times while each of them rises once, so that nobody waits.
constexpr std::size_t words_per_beat = 8;
/// A text may count so many processes of so many wrongly until the next tick.
constexpr std::size_t parts_of_survey = 16;

std::string seconds_text(std::uint64_t ns) {
  const auto tenths = ns / 100'000'000;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10))
         + " s";
}

std::string seconds_text(coordinator::time x) {
  return seconds_text(static_cast<std::uint64_t>(x.count()));
}

} // namespace

coordinator::coordinator(const coordinator_settings& settings, const std::string& token,
                         std::uint64_t life, coordinator_memory& memory, find_newest_set newest_set,
                         time now)
    : settings_(settings), token_(token), life_(life), memory_(memory),
      newest_set_(std::move(newest_set)), began_(now), checked_(now), formed_(now),
      leases_(settings.times.lease, now) {
  if (const auto found = memory_.read_state())
    state_ = decode_coordinator_state(found->bytes, "state." + std::to_string(found->life));
  seats_.set(state_.seats);
  // From here on, what an earlier life may still write lands where nobody looks.
  memory_.write_state(life_, encode(state_));
  if (state_.phase == job_phase::running) {
    // The members continue to beat: their statements say all that was known.
    sets_.begin_term(state_.seats.size());
    steps_.begin_term(state_.seats.size());
    for (std::uint64_t rank = 0; rank < state_.seats.size(); ++rank)
      unheard_.insert(unheard_.end(), rank);
  }
  if (!state_.sets.empty())
    set_directory(state_.sets);
  if (state_.phase == job_phase::over)
    output_.log.emplace_back(
        "the job is over already: a new one needs another id, or another directory");
}

void coordinator::set_directory(const std::string& sets) {
  sets_.set_directory(sets);
  sets_.set_stored(newest_set_(sets));
}

coordinator_output coordinator::take_output() {
  if (has_ended_)
    output_.words = std::exchange(last_words_, {});
  output_.sets = sets_.take_commands();
  return std::exchange(output_, {});
}

// -- what comes in

void coordinator::on_hello(source_id from, const cluster_hello& x, time now) {
  if (has_ended_ || !token_.is(x.token))
    return;
  // A repetition, because no word had arrived: to begin again with it would forget what the process
  // has said since.
  const auto known = processes_.all().find(from);
  if (known != processes_.all().end() && known->second.hello.who.is_same_process(x.who))
    return;
  auto& process = processes_.add(from, x, now);
  process.refused = fault_of(x);
  if (!process.refused.empty())
    say(from, now);
}

std::string coordinator::fault_of(const cluster_hello& x) const {
  if (x.protocol != cluster_protocol)
    return "protocol " + std::to_string(x.protocol) + " of leat " + x.version
           + "; needed: " + std::to_string(cluster_protocol);
  if (x.rank && !x.rules.is_elastic() && *x.rank >= x.rules.world_size)
    return "rank " + std::to_string(*x.rank) + " of a job of " + std::to_string(x.rules.world_size)
           + " ranks";
  const auto patience = std::min(settings_.times.lost, settings_.times.lease);
  if (x.beat_ns > static_cast<std::uint64_t>(patience.count()) / 2)
    return "a beat of " + seconds_text(x.beat_ns) + " at a coordinator that takes ranks "
           + "for lost after " + seconds_text(settings_.times.lost) + ", and lets them go on for "
           + seconds_text(settings_.times.lease)
           + "; needed: at most half of both (lost_after and lease of the coordinator)";
  if (!settings_.job.empty() && !x.job.empty() && x.job != settings_.job)
    return "job " + in_quotes(x.job) + "; needed: job " + in_quotes(settings_.job)
           + ", the one of this coordinator";
  return {};
}

/// Those that hold a seat of the newest term are right; among others nobody knows which one is
/// wrong.
const cluster_process* coordinator::one_to_compare_with(const cluster_process& x, time now) const {
  const auto counts = [&](const cluster_process& y) {
    return y.connection != x.connection && y.beat.number > 0 && is_present(y, now);
  };
  // All that count train on the same: whoever is equal to one of them is equal to all.
  if (const auto known = processes_.all().find(compared_);
      known != processes_.all().end() && counts(known->second) && known->second.work == x.work)
    return &known->second;
  for (const auto& seat : state_.seats)
    if (const auto* holder = processes_.find(seat.holder); holder && counts(*holder))
      return holder;
  for (const auto& [connection, other] : processes_.all())
    if (counts(other))
      return &other;
  return nullptr;
}

/// All processes must train on the same. Those that have gone do not count.
void coordinator::compare_with_others(cluster_process& x, time now) {
  const auto has_sat = [&](const cluster_process& y) { return seats_.holds_seat(y.hello.who); };
  const auto* first = one_to_compare_with(x, now);
  compared_ = first && first->work != x.work && !has_sat(x) ? first->connection : x.connection;
  if (!first || first->work == x.work)
    return;
  const auto found = differences(*first->example, *x.example);
  auto text = name_of(x) + " (here) and " + name_of(*first) + " (there) differ";
  for (const auto& one : found)
    text += "\n  " + one;
  output_.log.push_back("refused: " + text);
  const bool is_first_right = has_sat(*first);
  if (!has_sat(x))
    x.refused = text;
  if (is_first_right)
    return;
  for (auto& [connection, other] : processes_.all())
    if (other.connection != x.connection && other.beat.number > 0 && is_present(other, now)
        && !has_sat(other)) {
      other.refused = text;
      say(connection, now);
    }
}

bool coordinator::is_foreign(cluster_process& x, const cluster_beat& beat) {
  if (beat.life <= life_ && beat.term <= state_.term)
    return false;
  // The process has heard of a newer life than this one. Only the directory can tell whether there
  // is one.
  if (memory_.newest_life() > life_) {
    give_way();
    return true;
  }
  x.refused = name_of(x) + " has heard of coordinator " + std::to_string(beat.life) + " and term "
              + std::to_string(beat.term) + ", but here is coordinator " + std::to_string(life_)
              + ", and its state directory has term " + std::to_string(state_.term)
              + ": that is another job's, or it was removed while the job ran";
  output_.log.push_back("refused: " + x.refused);
  return true;
}

void coordinator::on_beat(source_id from, const cluster_beat& x, time now) {
  auto* process = processes_.find(from);
  if (has_ended_ || !process || !x.who.is_same_process(process->hello.who)
      || (process->beat.number > 0 && x.number < process->beat.number))
    return;
  const bool is_new = process->beat.number == 0;
  if (process->refused.empty() && !x.is_leaving && (is_new || !is_present(*process, now)))
    compare_with_others(*process, now); // when it was away, others may have come
  if (!process->refused.empty() || is_foreign(*process, x)) {
    // For the answer. Nothing that it says counts, nor that it says anything.
    process->beat.number = x.number;
    process->beat.life = x.life;
    return say(from, now);
  }
  const bool begins_to_want = is_new || process->beat.who != x.who;
  process->beat = x;
  process->heard = now;
  process->is_closed = false;
  if (begins_to_want) {
    process->wants_since = now;
    ++changes_since_;
  }
  for (const auto& one : x.gone)
    dead_.insert(number_of(one));
  hear(*process, x);
  if (has_ended_)
    return;
  const auto most = 2 * words_per_beat * processes_.all().size();
  paid_words_ = std::min(paid_words_ + words_per_beat, most);
  if (!say_news(now))
    say(from, now);
}

void coordinator::hear(const cluster_process& who, const cluster_beat& x) {
  if (state_.phase != job_phase::running || x.term != state_.term)
    return;
  const auto rank = seats_.rank_of(x.who);
  if (!rank)
    return;
  unheard_.erase(*rank);
  if (state_.sets.empty() && !x.sets.empty()) {
    auto state = state_;
    state.sets = x.sets;
    write(std::move(state));
    set_directory(x.sets);
  }
  if (x.global_step)
    steps_.set(*rank, *x.global_step);
  hear_ends(*rank, who);
  for (const auto& feed : x.feeds)
    hear(feed);
  if (!x.failure.empty())
    fail("rank " + std::to_string(*rank) + ": " + x.failure);
  else if (!x.sets.empty() && x.sets != state_.sets)
    fail("rank " + std::to_string(*rank) + " keeps its sets in " + x.sets + ", others in "
         + state_.sets);
}

/// What a rank has heard from a former coordinator counts more than what others were offered since.
void coordinator::hear(const feed_claim& x) {
  const auto known = feeds_.find(x.name);
  if (known == feeds_.end() ? feeds_.size() == most_feeds_of_job
                            : known->second.is_decided || !x.is_decided)
    return;
  feeds_[x.name] = x;
  has_news_ = true;
}

void coordinator::hear_ends(std::uint64_t rank, const cluster_process& who) {
  if (!ends_)
    ends_.emplace(who.hello.ends_with_last ? epoch_end::mask : epoch_end::drop,
                  state_.seats.size());
  for (const auto& [epoch, batches] : who.beat.ends)
    has_risen_ = ends_->know(epoch, batches) || has_risen_;
  for (const auto& [epoch, horizon] : who.beat.horizons)
    has_risen_ = ends_->state(epoch, rank, horizon) || has_risen_;
}

void coordinator::on_part(source_id from, const cluster_part& x, time now) {
  auto* process = processes_.find(from);
  if (has_ended_ || !process || !process->refused.empty() || state_.phase != job_phase::running
      || x.term != state_.term || x.rank >= state_.seats.size()
      || state_.seats[x.rank].holder != process->beat.who)
    return;
  const bool is_whole = sets_.add(x);
  if (is_whole)
    ask_next(now);
  else
    say(from, now);
}

void coordinator::ask_next(time now) {
  // One that is away is asked when it is heard again.
  while (const auto rank = sets_.next_to_ask())
    if (const auto* x = holder_of(*rank); x && !x->is_closed)
      return say(x->connection, now);
}

void coordinator::on_closed(source_id from) {
  auto* process = processes_.find(from);
  if (!process)
    return;
  process->is_closed = true; // from the next tick on, others on its host look whether it has ended
  if (!seats_.holds_seat(process->hello.who))
    processes_.forget(from);
}

void coordinator::on_stored(const job_position& at) {
  if (!sets_.on_stored(at))
    return;
  if (ends_)
    ends_->forget_before(at.epoch);
  has_news_ = true;
}

void coordinator::on_not_stored(const job_position& at, const std::string& why) {
  if (!sets_.on_not_stored(at, why))
    return;
  output_.log.push_back("not stored: " + place_text(at) + ": " + why);
  has_news_ = true;
}

// -- what goes out

/// Called before anyone hears of the state. If another life has begun meanwhile, it may not have
/// read this state: then nobody hears of it.
void coordinator::write(coordinator_state x) {
  memory_.write_state(life_, encode(x));
  state_ = std::move(x);
  seats_.set(state_.seats);
  if (memory_.newest_life() != life_)
    give_way();
}

void coordinator::fail(const std::string& why) {
  auto state = state_;
  state.phase = job_phase::failed;
  state.reason = why;
  write(std::move(state));
  output_.log.push_back("the job has failed: " + why);
  if (!sets_.is_storing())
    sets_.restart();
  has_news_ = true;
}

bool coordinator::say_news(time now) {
  const auto all = processes_.all().size();
  if (!has_news_ && !(has_risen_ && paid_words_ >= all))
    return false;
  paid_words_ -= has_news_ ? 0 : all;
  say_all(now);
  return true;
}

void coordinator::say_all(time now) {
  has_news_ = has_risen_ = false;
  step_limit_ = step_limit();
  for (const auto& [connection, x] : processes_.all())
    if (!x.is_closed)
      say(x, now);
}

std::optional<cluster_seat> coordinator::seat_for(const cluster_process& x, time now) {
  const auto rank = seats_.rank_of(x.beat.who);
  // One that has not taken its seat when the term fails takes it, and hears of the failure there.
  const bool is_late = state_.phase == job_phase::failed && x.beat.term == 0;
  if ((state_.phase != job_phase::running && !is_late) || !rank)
    return std::nullopt;
  const auto& seat = state_.seats[*rank];
  // Counted from when the directory last called this life the newest.
  const auto lease = settings_.times.lease - (now - checked_);
  if (lease <= time{0})
    return std::nullopt;
  leases_.grant(x.beat.who, now, lease);
  return cluster_seat{.holder = x.beat.who,
                      .rank = *rank,
                      .world_size = state_.seats.size(),
                      .lease_ns = static_cast<std::uint64_t>(lease.count()),
                      // Journals may have lost what older sets need.
                      .start = seat.has_come_back ? sets_.stored() : state_.start,
                      .has_come_back = seat.has_come_back,
                      .start_is_of_term = seat.has_come_back && sets_.stored() != state_.start,
                      .step_limit = step_limit_};
}

/// If there are many suspects, each word names different ones, and so do words to different
/// processes.
coordinator::neighbours coordinator::suspects_for(const cluster_process& x) const {
  const auto found = suspects_.find(host_of(x.hello.process));
  if (found == suspects_.end() || found->second.size() <= most_suspects)
    return found == suspects_.end() ? neighbours{} : found->second;
  const auto& all = found->second;
  neighbours some;
  const auto turn = (x.beat.number + x.hello.who.low) % all.size();
  for (std::size_t i = 0; i < most_suspects; ++i)
    some.push_back(all[(turn * most_suspects + i) % all.size()]);
  return some;
}

std::string coordinator::what_it_waits_for(const cluster_process& x) const {
  if (!x.wants_seat())
    return {};
  if (!waiting_ || changes_since_ * parts_of_survey >= processes_.all().size()) {
    waiting_.emplace(processes_);
    changes_since_ = 0;
  }
  return waiting_->text_for(x, state_);
}

std::vector<fed_rank> coordinator::fed_ranks() const {
  std::vector<fed_rank> all;
  for (std::uint64_t rank = 0; rank < state_.seats.size(); ++rank)
    if (const auto* holder = processes_.find(state_.seats[rank].holder);
        holder && !holder->beat.feeds_at.empty())
      all.push_back({.rank = rank, .feeds_at = holder->beat.feeds_at});
  return all;
}

void coordinator::say(source_id to, time now) {
  step_limit_ = step_limit();
  if (const auto* process = processes_.find(to))
    say(*process, now);
}

void coordinator::say(const cluster_process& to, time now) {
  const bool is_running = state_.phase == job_phase::running;
  const bool was_of_the_term = to.beat.term == state_.term;
  // A process that has heard of a newer life ignores words of an older one, and would not hear why
  // it is refused.
  cluster_word x{.life = to.refused.empty() ? life_ : std::max(life_, to.beat.life),
                 .echo = to.beat.number,
                 .term = state_.term,
                 .stop = state_.term == 0 ? 0 : state_.term - 1,
                 .reason = state_.reason,
                 .waits_for = what_it_waits_for(to),
                 .refused = to.refused,
                 .is_over = state_.phase == job_phase::over,
                 .target = sets_.target(),
                 .given_up = sets_.given_up(),
                 .stored = sets_.stored(),
                 .keep = settings_.keep,
                 .store_failures = sets_.failures(),
                 .store_failure = sets_.failure(),
                 .neighbours = suspects_for(to)};
  if (to.refused.empty() && to.beat.number > 0)
    x.seat = seat_for(to, now);
  if (state_.phase == job_phase::forming
      || (is_running && was_of_the_term && !seats_.rank_of(to.beat.who)))
    x.stop = state_.term;
  if (state_.phase == job_phase::failed && was_of_the_term)
    x.failure = state_.reason;
  // One that has just begun may not have heard what its ranks know.
  for (const auto& [name, feed] : feeds_)
    if (feed.is_decided || unheard_.empty())
      x.feeds.push_back(feed);
  if (x.seat && to.beat.serves)
    x.fed_ranks = fed_ranks();
  x.first_elsewhere =
      to.beat.serves && is_running && !state_.seats.front().holder.is_same_process(to.beat.who);
  if (x.seat && ends_)
    x.horizons = ends_->known();
  if (x.seat && was_of_the_term)
    x.needed = sets_.needed_of(x.seat->rank);
  output_.words.push_back({to.connection, std::move(x)});
}

void coordinator::retire() {
  has_ended_ = true;
  sets_.restart();
}

void coordinator::give_way() {
  is_superseded_ = true;
  retire();
  std::string address;
  try {
    address = memory_.newest_address();
  } catch (const error&) { // members then look for it where they found this one
    return;
  }
  for (const auto& [connection, x] : processes_.all())
    if (!x.is_closed)
      last_words_.push_back({connection, {.life = life_, .moved_to = address}});
}

void coordinator::give_up() {
  has_lost_directory_ = true;
  retire();
  const std::string why = "the state directory was removed while the job ran";
  output_.log.push_back(why);
  for (const auto& [connection, x] : processes_.all()) {
    cluster_word word{.life = life_, .echo = x.beat.number, .term = x.beat.term};
    (x.beat.term == 0 ? word.refused : word.failure) = why;
    if (!x.is_closed)
      last_words_.push_back({connection, std::move(word)});
  }
}

} // namespace leat
