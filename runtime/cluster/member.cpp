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
/// Of a failure's text, which has to fit into a beat.
constexpr std::size_t longest_failure = 64 << 10;

/// Cuts between characters.
std::string shortened(std::string text) {
  if (text.size() <= longest_failure)
    return text;
  auto size = longest_failure;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80)
    --size;
  text.resize(size);
  return text + " ...";
}

/// Beats whose time is remembered: a lease by an older one would have run out.
constexpr std::size_t most_unanswered = 400;

} // namespace

member::member(cluster_hello me, const cluster_times& times)
    : hello_(std::move(me)), times_(times) {}

// -- connections and time

void member::on_connected() {
  no_connection_.clear();
  has_news_ = true;
  sent_.clear(); // they were sent on another connection
  seated_.said.clear();
}

void member::on_tick(time now) {
  const auto ran = std::clamp(now - last_tick_.value_or(now), time{0}, times_.beat);
  last_tick_ = now;
  silence_ += ran;
  without_lease_ = seated_.term == 0 || has_lease(now) ? time{0} : without_lease_ + ran;
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
                 .term = seated_.term,
                 .sets = sets_,
                 .start = wanted_start_,
                 .is_leaving = is_leaving_,
                 .gone = gone_,
                 .hunger = seated_.hunger,
                 .rows_per_second = seated_.rows_per_second,
                 .workers_at = makers_.workers_at,
                 .workers = makers_.workers,
                 .helper_cores = makers_.helper_cores,
                 .feeds_at = makers_.feeds_at,
                 .serves = makers_.serves};
  for (const auto& [name, feed] : feeds_)
    x.feeds.emplace_back(feed).is_decided = decided_feeds_.contains(name);
  x.fed = fed_.all();
  if (seated_.term == 0)
    return x;
  x.saves_from = seated_.trainer.saves_from;
  if (seated_.has_begun)
    x.global_step = seated_.trainer.global_step;
  x.horizons = seated_.stated;
  for (const auto& [epoch, horizon] : seated_.known)
    if (horizon.is_final)
      x.ends[epoch] = horizon.batches;
  for (const auto& [place, part] : seated_.saved)
    x.saved.push_back(place);
  x.waits_for_saved = seated_.waits_for_saved;
  x.failure = seated_.is_own_failure ? seated_.failure : std::string{};
  x.is_done = is_done();
  seated_.has_said_done = x.is_done;
  seated_.said = seated_.stated;
  seated_.said_step = seated_.trainer.global_step;
  return x;
}

/// Measures over a beat or more: beats that are sent for news may follow one another quickly.
void member::measure(time now) {
  auto& of = seated_;
  if (of.measured && now - *of.measured < times_.beat)
    return;
  if (of.measured && of.term != 0) {
    const std::chrono::duration<double> span = now - *of.measured;
    const auto rows = static_cast<double>(of.trainer.rows - of.measured_at.rows);
    const auto waited = of.trainer.waited - of.measured_at.waited;
    of.rows_per_second = static_cast<std::uint64_t>(rows / span.count());
    of.hunger = static_cast<std::uint64_t>(1000 * std::clamp(waited / span, 0.0, 1.0));
  }
  fed_.measure(of.measured ? now - *of.measured : time{0});
  of.measured = now;
  of.measured_at = of.trainer;
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
  // The lease counts from when it was asked for, however long the answer took.
  const auto sent = sent_.find(x.echo);
  const bool is_answer = sent != sent_.end();
  const auto asked = is_answer ? sent->second : time{0};
  sent_.erase(sent_.begin(), is_answer ? std::next(sent) : sent_.begin());
  is_first_elsewhere_ = x.first_elsewhere; // also of one that is refused: it may have a journal
  if (!x.refused.empty()) {
    refused_ = x.refused;
    return;
  }
  if (seated_.term != 0 && x.stop >= seated_.term)
    let_go();
  is_over_ = is_over_ || x.is_over;
  if (!x.failure.empty() && seated_.term != 0 && x.term == seated_.term) {
    seated_.is_failure_heard = true;
    if (seated_.failure.empty())
      seated_.failure = x.failure;
  }
  // The word is older than one that was heard already, or is for a former life of this process.
  if (!x.seat || x.seat->holder != hello_.who || x.echo < heard_echo_)
    return;
  heard_echo_ = x.echo;
  const auto until = is_answer ? asked + time{static_cast<time::rep>(x.seat->lease_ns)} : time{0};
  // A word that was delayed for long gives no seat.
  if (seated_.term == 0 && is_answer && until > now && !is_leaving_)
    sit(x);
  if (x.term != seated_.term)
    return;
  for (const auto& feed : x.feeds)
    if (decided_feeds_.insert(feed.name).second) { // what was decided once stays so
      feeds_[feed.name] = feed;
      feeds_[feed.name].is_decided = false; // the set says that
    }
  // A coordinator that has just begun does not know how far others are.
  seat_.step_limit = std::max(seat_.step_limit, x.seat->step_limit);
  seated_.lease_until = std::max(seated_.lease_until, until);
  join(seated_.known, x.horizons);
  seated_.fed_ranks = x.fed_ranks;
  hear_stored(x);
  seated_.target = x.target;
  give_piece(x);
  for (const auto& [epoch, horizon] : seated_.stated)
    has_news_ = has_news_ || must_say(epoch);
}

void member::on_over() {
  if (seated_.term != 0 && !seated_.is_finished)
    let_go(); // it was over without this rank, in a later term
  seated_.saved.clear();
  is_over_ = true;
}

void member::sit(const cluster_word& x) {
  seated_ = {};
  seated_.term = x.term;
  seat_ = *x.seat;
  seated_.trainer.saves_from = seat_.start.value_or(job_position{});
  stored_ = x.stored;
  keep_ = x.keep;
  store_failures_ = x.store_failures;
  has_news_ = true;
}

void member::let_go() {
  seated_ = {};
  ++hello_.who.let_go;
  wanted_start_.reset();
  has_news_ = true;
}

void member::hear_stored(const cluster_word& x) {
  keep_ = x.keep;
  if (x.stored && (!stored_ || *x.stored > *stored_)) {
    stored_ = x.stored;
    seated_.saved.erase(seated_.saved.begin(), seated_.saved.upper_bound(*stored_));
    seated_.known.erase(
        seated_.known.begin(),
        seated_.known.lower_bound(std::min(stored_->epoch, seated_.trainer.saves_from.epoch)));
  }
  if (x.given_up)
    seated_.saved.erase(seated_.saved.begin(), seated_.saved.upper_bound(*x.given_up));
  has_news_ = has_news_ || (is_done() && !seated_.has_said_done);
  if (x.store_failures > store_failures_) {
    store_failures_ = x.store_failures;
    store_failure_ = x.store_failure;
  }
}

void member::give_piece(const cluster_word& x) {
  const auto part = x.target && x.needed ? seated_.saved.find(*x.target) : seated_.saved.end();
  if (part == seated_.saved.end() || *x.needed > part->second->size())
    return;
  const auto& bytes = *part->second;
  seated_.piece = cluster_part{.term = seated_.term,
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
  move_on({.saves_from = at, .global_step = global_step});
  has_news_ = true;
}

void member::move_on(const trainer_note& x) {
  seated_.trainer = x;
  seated_.has_begun = true;
  has_news_ = has_news_ || x.global_step >= next_news();
  auto& stated = seated_.stated;
  stated.erase(stated.begin(), stated.lower_bound(x.saves_from.epoch));
}

/// Ranks may run only so far ahead of what others have said (cluster_seat::step_limit), so each
/// says how far it is in good time: half way.
std::uint64_t member::next_news() const noexcept {
  const auto left = seat_.step_limit - std::min(seat_.step_limit, seated_.said_step);
  return seat_.step_limit - left / 2;
}

void member::state(std::uint64_t epoch, const epoch_horizon& x) {
  auto& to = seated_.stated[epoch];
  if (to.is_final || (!x.is_final && x.batches <= to.batches))
    return;
  to = x;
  has_news_ = has_news_ || must_say(epoch);
}

/// Whether what was not said yet is worth a message: trainers may soon wait for it. In lock step
/// each message then covers half of the batches that the rank knows ahead. Whoever runs ahead of
/// this rank waits for the next beat.
bool member::must_say(std::uint64_t epoch) const {
  const auto stated = seated_.stated.find(epoch);
  const auto said = seated_.said.find(epoch);
  if (said == seated_.said.end() || stated->second.is_final != said->second.is_final)
    return true;
  if (stated->second.batches == said->second.batches)
    return false;
  const auto known = this->known(epoch).batches;
  if (hello_.ends_with_last && stated->second.batches <= known)
    return false; // the rank with the most batches decides
  const auto& from = seated_.trainer.saves_from;
  const auto at = from.epoch == epoch ? from.step : 0;
  const auto left = std::max(known, at) - at;
  return left <= stated->second.batches - said->second.batches;
}

void member::save(const job_position& at, kept_part part) {
  if (stored_ && at <= *stored_)
    return;
  seated_.saved[at] = std::move(part);
  while (seated_.saved.size() > most_parts) {
    auto drop = std::next(seated_.saved.begin());
    if (seated_.target && drop->first == *seated_.target)
      ++drop;
    seated_.saved.erase(drop);
  }
  has_news_ = true;
}

void member::wait_for_saved(bool waits) {
  has_news_ = has_news_ || (waits && !seated_.waits_for_saved);
  seated_.waits_for_saved = waits;
}

void member::made_by(const maker_note& x) {
  // Whoever serves a rank looks for it there.
  has_news_ = has_news_ || x.feeds_at != makers_.feeds_at || x.serves != makers_.serves;
  makers_ = x;
}

void member::claim(const feed_claim& x) {
  if (feeds_.size() < most_feeds_of_job && feeds_.try_emplace(x.name, x).second)
    has_news_ = true;
}

const feed_claim* member::decided_feed(const std::string& name) const {
  return decided_feeds_.contains(name) ? &feeds_.at(name) : nullptr;
}

void member::finish() {
  has_news_ = has_news_ || !seated_.is_finished;
  seated_.is_finished = true;
}

void member::fail(std::string why) {
  if (!seated_.failure.empty() || seated_.term == 0)
    return;
  seated_.failure = shortened(std::move(why));
  seated_.is_own_failure = true;
  has_news_ = true;
}

void member::leave() {
  is_leaving_ = true;
  has_news_ = true;
}

epoch_horizon member::known(std::uint64_t epoch) const {
  const auto found = seated_.known.find(epoch);
  return found == seated_.known.end() ? epoch_horizon{} : found->second;
}

} // namespace leat
