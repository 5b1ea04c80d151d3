#include "runtime/cluster/member.hpp"

#include <algorithm>
#include <iterator>

namespace leat {

namespace {

/// Parts kept for sets that are not stored yet: the oldest, the one that is being completed, and
/// the newest.
constexpr std::size_t most_parts = 3;
/// Dead processes that it remembers.
constexpr std::size_t most_gone = 64;
/// The beats whose time is remembered: an answer to an older one is of no use.
constexpr std::size_t most_unanswered = 400;

} // namespace

member::member(cluster_hello me, const cluster_times& times)
    : hello_(std::move(me)), times_(times) {}

// -- connections and time

void member::on_connected() {
  no_connection_.clear();
  has_news_ = true;
  sent_.clear(); // answers to what was said on another connection
  said_.clear();
}

void member::on_tick(time now) {
  const auto ran = std::clamp(now - last_tick_.value_or(now), time{0}, times_.beat);
  last_tick_ = now;
  silence_ += ran;
  without_lease_ = term_ == 0 || has_lease(now) ? time{0} : without_lease_ + ran;
}

void member::on_gone(const incarnation& who) {
  if (std::find(gone_.begin(), gone_.end(), who) != gone_.end())
    return;
  gone_.push_back(who); // for good: another coordinator has to hear of it, too
  if (gone_.size() > most_gone)
    gone_.erase(gone_.begin());
  has_news_ = true;
}

bool member::is_due(time now) const {
  if (!last_sent_ || now - *last_sent_ >= times_.beat)
    return true;
  return has_news_ && sent_.empty();
}

std::optional<cluster_beat> member::take_beat(time now) {
  if (!is_due(now))
    return std::nullopt;
  has_news_ = false;
  sent_[++number_] = now;
  if (sent_.size() > most_unanswered)
    sent_.erase(sent_.begin());
  last_sent_ = now;
  measure(now);
  cluster_beat x{.number = number_,
                 .who = hello_.who,
                 .life = life_,
                 .term = term_,
                 .sets = sets_,
                 .start = wanted_start_,
                 .is_leaving = is_leaving_,
                 .gone = gone_,
                 .hunger = hunger_,
                 .rows_per_second = rows_per_second_};
  if (term_ == 0)
    return x;
  x.behind = behind_;
  x.global_step = global_step_;
  x.horizons = stated_;
  for (const auto& [epoch, horizon] : known_)
    if (horizon.is_final)
      x.ends[epoch] = horizon.batches;
  for (const auto& [place, part] : saved_)
    x.saved.push_back(place);
  x.waits_for_saved = waits_for_saved_;
  x.failure = is_own_failure_ ? failure_ : std::string{};
  x.is_done = is_done();
  has_said_done_ = x.is_done;
  said_ = stated_;
  said_step_ = global_step_.value_or(0);
  return x;
}

/// Over a beat or more: those sent because something has risen come quickly one after the other.
void member::measure(time now) {
  if (measured_ && now - *measured_ < times_.beat)
    return;
  if (measured_ && term_ != 0) {
    const auto span = std::chrono::duration<double>(now - *measured_).count();
    const auto rows = static_cast<double>(counted_.rows - measured_amounts_.rows);
    const auto waited =
        std::chrono::duration<double>(counted_.waited - measured_amounts_.waited).count();
    rows_per_second_ = static_cast<std::uint64_t>(rows / span);
    hunger_ = static_cast<std::uint64_t>(1000 * std::clamp(waited / span, 0.0, 1.0));
  }
  measured_ = now;
  measured_amounts_ = counted_;
}

void member::on_word(const cluster_word& x, time now) {
  if (x.life < life_)
    return;
  if (!x.moved_to.empty())
    moved_to_ = x.moved_to;
  life_ = x.life;
  heard_ = now;
  silence_ = time{0};
  reason_ = x.reason;
  waits_for_ = x.waits_for;
  neighbours_ = x.neighbours;
  // Counted from when the answer was asked for, however long it was on its way.
  const auto sent = sent_.find(x.echo);
  const bool is_answer = sent != sent_.end();
  const auto asked = is_answer ? sent->second : time{0};
  sent_.erase(sent_.begin(), is_answer ? std::next(sent) : sent_.begin());
  if (!x.refused.empty()) {
    refused_ = x.refused;
    return;
  }
  if (term_ != 0 && x.stop >= term_)
    let_go();
  is_over_ = is_over_ || x.is_over;
  if (!x.failure.empty() && term_ != 0 && x.term == term_) {
    is_failure_heard_ = true;
    if (failure_.empty())
      failure_ = x.failure;
  }
  // Said before what was heard already, or for a former life.
  if (!x.seat || x.seat->holder != hello_.who || x.echo < heard_echo_)
    return;
  heard_echo_ = x.echo;
  const auto until = is_answer ? asked + time{static_cast<time::rep>(x.seat->lease_ns)} : time{0};
  // A word that has lain about for long gives no seat.
  if (term_ == 0 && is_answer && until > now && !is_leaving_)
    sit(x);
  if (x.term != term_)
    return;
  // A coordinator that has just begun does not know how far others are.
  seat_.step_limit = std::max(seat_.step_limit, x.seat->step_limit);
  lease_until_ = std::max(lease_until_, until);
  join(known_, x.horizons);
  hear_stored(x);
  target_ = x.target;
  give_piece(x);
  for (const auto& [epoch, horizon] : stated_)
    has_news_ = has_news_ || must_say(epoch);
}

void member::on_over() {
  if (term_ != 0 && !is_finished_)
    let_go(); // it was over without this rank, in a later term
  saved_.clear();
  is_over_ = true;
}

void member::sit(const cluster_word& x) {
  forget_term();
  term_ = x.term;
  seat_ = *x.seat;
  behind_ = seat_.start.value_or(job_position{});
  stored_ = x.stored;
  store_failures_ = x.store_failures;
  has_news_ = true;
}

void member::let_go() {
  forget_term();
  term_ = 0;
  ++hello_.who.let_go;
  wanted_start_.reset();
  has_news_ = true;
}

void member::forget_term() {
  lease_until_ = time{0};
  known_.clear();
  stated_.clear();
  said_.clear();
  behind_ = {};
  global_step_.reset();
  saved_.clear();
  target_.reset();
  piece_.reset();
  waits_for_saved_ = false;
  counted_ = {};
  measured_.reset();
  measured_amounts_ = {};
  hunger_ = 0;
  rows_per_second_ = 0;
  is_finished_ = false;
  has_said_done_ = false;
  said_step_ = 0;
  failure_.clear();
  is_own_failure_ = false;
  is_failure_heard_ = false;
}

void member::hear_stored(const cluster_word& x) {
  if (x.stored && (!stored_ || *x.stored > *stored_)) {
    stored_ = x.stored;
    saved_.erase(saved_.begin(), saved_.upper_bound(*stored_));
    known_.erase(known_.begin(), known_.lower_bound(std::min(stored_->epoch, behind_.epoch)));
  }
  if (x.given_up)
    saved_.erase(saved_.begin(), saved_.upper_bound(*x.given_up));
  has_news_ = has_news_ || (is_done() && !has_said_done_);
  if (x.store_failures > store_failures_) {
    store_failures_ = x.store_failures;
    store_failure_ = x.store_failure;
  }
}

void member::give_piece(const cluster_word& x) {
  const auto part = x.target && x.needed ? saved_.find(*x.target) : saved_.end();
  if (part == saved_.end() || *x.needed > part->second->size())
    return;
  const auto& bytes = *part->second;
  piece_ = cluster_part{.term = term_,
                        .at = part->first,
                        .rank = seat_.rank,
                        .total_bytes = bytes.size(),
                        .offset = *x.needed,
                        .bytes = bytes.substr(*x.needed, most_piece_bytes)};
}

// -- the trainer's side

void member::want(std::string sets, std::optional<job_position> start) {
  sets_ = std::move(sets);
  wanted_start_ = start;
  has_news_ = true;
}

void member::begin(const job_position& at, std::uint64_t global_step) {
  behind_ = at;
  global_step_ = global_step;
  has_news_ = true;
}

void member::move_on(const job_position& behind, std::uint64_t global_step) {
  behind_ = behind;
  global_step_ = global_step;
  has_news_ = has_news_ || global_step >= next_news();
  stated_.erase(stated_.begin(), stated_.lower_bound(behind.epoch));
}

/// Others may run only so far ahead of what was said (cluster_seat::step_limit), and so may this
/// one: it says so in good time, half way.
std::uint64_t member::next_news() const noexcept {
  const auto left = seat_.step_limit - std::min(seat_.step_limit, said_step_);
  return seat_.step_limit - left / 2;
}

void member::state(std::uint64_t epoch, const epoch_horizon& x) {
  auto& to = stated_[epoch];
  if (to.is_final || (!x.is_final && x.batches <= to.batches))
    return;
  to = x;
  has_news_ = has_news_ || must_say(epoch);
}

/// Whether what was not said yet is worth a message: trainers may soon wait for it. In lock step
/// each message then covers half of the batches that the rank knows ahead. Whoever runs ahead of
/// this rank waits for the next beat.
bool member::must_say(std::uint64_t epoch) const {
  const auto stated = stated_.find(epoch);
  const auto said = said_.find(epoch);
  if (said == said_.end() || stated->second.is_final != said->second.is_final)
    return true;
  if (stated->second.batches == said->second.batches)
    return false;
  const auto known = this->known(epoch).batches;
  if (hello_.ends_with_last && stated->second.batches <= known)
    return false; // the rank with the most batches decides
  const auto at = behind_.epoch == epoch ? behind_.step : 0;
  const auto left = std::max(known, at) - at;
  return left <= stated->second.batches - said->second.batches;
}

void member::save(const job_position& at, kept_part part) {
  if (stored_ && at <= *stored_)
    return;
  saved_[at] = std::move(part);
  while (saved_.size() > most_parts) {
    auto drop = std::next(saved_.begin());
    if (target_ && drop->first == *target_)
      ++drop;
    saved_.erase(drop);
  }
  has_news_ = true;
}

void member::wait_for_saved(bool waits) {
  has_news_ = has_news_ || (waits && !waits_for_saved_);
  waits_for_saved_ = waits;
}

void member::finish() {
  has_news_ = has_news_ || !is_finished_;
  is_finished_ = true;
}

void member::fail(std::string why) {
  if (!failure_.empty() || term_ == 0)
    return;
  failure_ = std::move(why);
  is_own_failure_ = true;
  has_news_ = true;
}

void member::leave() {
  is_leaving_ = true;
  has_news_ = true;
}

epoch_horizon member::known(std::uint64_t epoch) const {
  const auto found = known_.find(epoch);
  return found == known_.end() ? epoch_horizon{} : found->second;
}

} // namespace leat
