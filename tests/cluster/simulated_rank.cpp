#include "tests/cluster/simulated_rank.hpp"

#include "runtime/job/resume.hpp"

#include <leat/error.hpp>

namespace leat::test {

namespace {

constexpr std::size_t most_parts_kept = 3;
/// How long a process waits without a coordinator.
const auto patience = seconds_of(60);

job_rules rules_of(const scenario& with, belonging what) {
  auto rules = with.rules;
  if (what != belonging::false_start)
    return rules;
  rules.comes_back_alone = !rules.comes_back_alone;
  rules.world_size += rules.is_elastic() ? 0 : 1; // a rank that never comes
  rules.least_ranks = 2;
  ++rules.most_ranks;
  return rules;
}

cluster_hello hello_of(const simulated_process& x, const scenario& with,
                       std::optional<std::uint64_t> rank, belonging what) {
  const auto& job = *with.job;
  return {
      .version = "1",
      .token = "secret",
      .who = {.high = 1, .low = x.pid()},
      .process = {.host = {x.host(), 1}, .boot = {x.host(), 1}, .pid_namespace = 1, .pid = x.pid()},
      .host_name = "host" + std::to_string(x.host()),
      .rank = rank,
      .rules = rules_of(with, what),
      .pipeline = job.beginning(),
      .options = {{"seed", what == belonging::stranger ? "8" : "7"}},
      .lanes = job.is_indexed() ? 0 : job.lanes(),
      .ends_with_last = job.end_rule() == epoch_end::mask};
}

} // namespace

simulated_rank::simulated_rank(simulated_cluster& in, std::uint64_t host,
                               std::optional<std::uint64_t> rank, belonging what)
    : simulated_process(in.net, host), in_(in),
      member_(hello_of(*this, in.with, rank, what), in.with.settings.times), heard_(clock()),
      began_(clock()) {
  member_.want("sets", {});
  after(seconds_of(in_.net.between(0, 0.25)), [this] { tick(); });
}

// -- the process

void simulated_rank::tick() {
  const auto& times = in_.with.settings.times;
  if (connection_ && clock() - heard_ > 4 * times.beat)
    hang_up();
  if (!connection_)
    dial();
  else if (clock() - std::max(greeted_, heard_) > 2 * times.beat)
    greet(); // the first hello may have been lost
  look_around();
  const auto quiet = clock() - member_.heard().value_or(began_);
  if (quiet > patience || (state_ == trainer::done && quiet > 4 * times.linger))
    return leave();
  pump();
  if (is_alive())
    after(times.beat / 2, [this] { tick(); });
}

void simulated_rank::dial() {
  auto* to = in_.net.find(in_.disk.address);
  if (!to)
    return;
  connection_ = in_.net.connect(*this, *to);
  if (!connection_)
    return;
  heard_ = clock();
  member_.on_connected();
  greet();
}

void simulated_rank::greet() {
  greeted_ = clock();
  auto* to = in_.net.other_end(*this, connection_);
  in_.net.send(*this, connection_, 1000, [to, from = connection_, hello = member_.hello()] {
    static_cast<simulated_coordinator*>(to)->on_hello(from, hello);
  });
}

void simulated_rank::hang_up() {
  in_.net.close(*this, connection_);
  connection_ = 0;
}

void simulated_rank::on_closed(connection_id x) {
  if (x == connection_)
    connection_ = 0;
}

/// Checks whether processes of the same host are alive.
void simulated_rank::look_around() {
  for (const auto& [who, process] : std::vector(member_.neighbours()))
    if (const auto* other = in_.net.find(process.pid); other && !other->is_alive())
      member_.on_gone(who);
}

void simulated_rank::say() {
  while (auto beat = member_.take_beat(clock())) {
    sent_[beat->number] = clock();
    if (sent_.size() > 100)
      sent_.erase(sent_.begin());
    if (!connection_)
      continue;
    alter(*beat);
    auto* to = in_.net.other_end(*this, connection_);
    in_.net.send(*this, connection_, 200 + 24 * beat->horizons.size(),
                 [to, from = connection_, beat = std::make_shared<cluster_beat>(std::move(*beat))] {
                   static_cast<simulated_coordinator*>(to)->on_beat(from, std::move(*beat));
                 });
  }
  while (const auto piece = member_.take_piece())
    if (connection_) {
      auto* to = in_.net.other_end(*this, connection_);
      in_.net.send(*this, connection_, 200 + piece->bytes.size(),
                   [to, from = connection_, piece = std::make_shared<cluster_part>(*piece)] {
                     static_cast<simulated_coordinator*>(to)->on_part(from, *piece);
                   });
    }
  in_.check.at_most("parts kept", member_.saved().size(), most_parts_kept);
}

void simulated_rank::alter(cluster_beat& x) {
  if (!in_.with.keeps(rule::lost_sets_are_given_up))
    x.saves_from = {};
  if (!in_.with.keeps(rule::saves_before_moving_on))
    x.saves_from = in_.with.job->after(in_.with.job->after(x.saves_from));
  if (!in_.with.keeps(rule::ends_are_repeated))
    x.ends.clear();
  if (!in_.with.keeps(rule::statements_until_heard)
      && std::exchange(has_stated_failure_, !x.failure.empty()))
    x.failure.clear();
}

void simulated_rank::alter(cluster_word& x) {
  const auto asked = sent_.find(x.echo);
  if (!in_.with.keeps(rule::lease_counts_from_question) && x.seat && asked != sent_.end())
    x.seat->lease_ns += static_cast<std::uint64_t>((clock() - asked->second).count());
}

void simulated_rank::on_word(const cluster_word& word) {
  heard_ = clock();
  auto x = word;
  alter(x);
  member_.on_word(x, clock());
  if (!x.failure.empty() && x.term == member_.term())
    failure_is_known_ = true;
  if (!member_.refused().empty()) {
    if (!in_.with.has_stranger)
      judge::wrong("refused one that belongs here: " + member_.refused());
    return leave();
  }
  if (member_.is_over())
    return leave();
  pump();
}

void simulated_rank::leave() {
  if (state_ == trainer::ended)
    return;
  state_ = trainer::ended;
  in_.note("process " + std::to_string(pid()) + " leaves; " + member_.refused());
  member_.leave();
  say();
  after(seconds_of(0.05), [this] { exit(); });
}

// -- the trainer

seat_life simulated_rank::life() const {
  return {member_.term(), member_.seat().rank, member_.seat().world_size, *seated_};
}

void simulated_rank::later(virtual_time time, void (simulated_rank::*what)()) {
  after(time, [this, what, who = seated_] {
    if (seated_ == who && who)
      (this->*what)();
  });
}

void simulated_rank::pump() {
  if (state_ == trainer::ended)
    return;
  if (seated_ && (member_.term() == 0 || member_.hello().who != *seated_)) {
    if (state_ == trainer::failed)
      return leave();
    let_go();
  }
  if (!seated_ && member_.term() != 0) {
    seated_ = member_.hello().who;
    later(seconds_of(in_.net.between(0.001, 0.1)), &simulated_rank::load);
  }
  if (!member_.failure().empty() && state_ != trainer::failed)
    raise();
  if (state_ == trainer::failed && failure_is_known_)
    return leave();
  if (batches_) {
    list_ahead();
    catch_up();
    hand_over();
  }
  say();
}

void simulated_rank::let_go() {
  in_.note("process " + std::to_string(pid()) + " lets go");
  seated_.reset();
  waits_ = false;
  state_ = trainer::away;
  batches_.reset();
  listed_.clear();
  is_listing_ = false;
  is_listed_to_the_end_ = false;
  failure_is_known_ = false;
}

/// Needs the lease: a trainer that was stopped before it began must not take its place now.
void simulated_rank::load() {
  if (!member_.has_lease(clock()) && in_.with.keeps(rule::no_lease_no_batch))
    return later(in_.with.settings.times.beat / 4, &simulated_rank::load);
  const auto& seat = member_.seat();
  job_ = in_.with.job->job_of(seat.rank, seat.world_size);
  if (seat.start) {
    const auto set = in_.disk.sets.find(*seat.start);
    if (set == in_.disk.sets.end())
      return; // the term is over
    if (seat.start_is_of_term)
      resume(job_, {set->second.at(seat.rank)}, false, {});
    else
      resume(job_, set->second, true, {});
  }
  in_.note("rank " + std::to_string(seat.rank) + ": process " + std::to_string(pid())
           + " begins at " + text_of(job_.at.next));
  goal_ = in_.check.begins(life(), job_.at.next, seat.has_come_back, in_.disk);
  batches_ = std::make_unique<batch_list>(job_);
  member_.begin(job_.at.next, job_.at.global_step);
  state_ = trainer::catching_up;
  pump();
}

void simulated_rank::list_ahead() {
  if (is_listing_ || is_listed_to_the_end_ || listed_.size() >= in_.with.ahead)
    return;
  is_listing_ = true;
  const auto time = in_.with.list_time * (state_ == trainer::catching_up ? 0.2 : 1.0);
  later(seconds_of(std::chrono::duration<double>(time).count() * in_.net.between(0.3, 2)),
        &simulated_rank::list_one);
}

void simulated_rank::list_one() {
  is_listing_ = false;
  auto x = batches_->next();
  if (x.plan.what == batch_plan::kind::failed)
    judge::wrong("a list that fails: " + std::string{x.plan.failure->what()});
  is_listed_to_the_end_ = x.plan.what == batch_plan::kind::end;
  if (x.plan.what == batch_plan::kind::batch) {
    if (in_.with.job->needs_ends(job_.world_size))
      member_.state(x.plan.epoch, x.plan.horizon);
    listed_.push_back(std::move(x));
  }
  pump();
}

/// Drops what was listed for an epoch that is over. True if the first batch can be handed over,
/// as the end of its epoch or not.
bool simulated_rank::settle() {
  while (!listed_.empty()) {
    auto& plan = listed_.front().plan;
    if (plan.epoch < job_.at.next.epoch) {
      listed_.pop_front();
      continue;
    }
    if (!in_.with.job->needs_ends(job_.world_size))
      return true;
    const auto known = member_.known(plan.epoch);
    if (known.is_final && plan.step >= known.batches)
      judge::wrong("an epoch that ends before where the job stands: " + text_of(job_.at.next));
    plan.end_of_epoch = known.is_final && plan.step + 1 == known.batches;
    return known.is_final || plan.step + 1 < known.batches;
  }
  return false;
}

void simulated_rank::end_epoch_if(bool ends) {
  if (!ends || !in_.with.job->needs_ends(job_.world_size))
    return;
  batches_->begin_epoch(job_.at.next.epoch);
  is_listed_to_the_end_ = false;
}

std::string simulated_rank::part() const {
  if (!in_.with.saves(job_.at.next))
    return {};
  return with_tag({member_.term(), *seated_, job_.encoded_at(job_.at)});
}

/// Skips the batches before the one that the trainer has named, without handing them over.
void simulated_rank::catch_up() {
  if (state_ != trainer::catching_up)
    return;
  while (job_.at.next < goal_ && settle()) {
    const auto x = std::move(listed_.front());
    listed_.pop_front();
    count_batch(job_, x);
    end_epoch_if(x.plan.end_of_epoch);
    save(job_.at.next, part());
    member_.move_on({job_.at.next, job_.at.global_step});
  }
  if (job_.at.next >= goal_)
    state_ = trainer::waiting;
  list_ahead();
}

void simulated_rank::hand_over() {
  if (state_ != trainer::waiting || (waits_ && !member_.saved().empty()))
    return;
  if (waits_)
    wait_for_saved(false);
  if (job_.at.next == in_.with.job->end())
    return finish();
  if (!settle())
    return list_ahead();
  const bool may = member_.may_hand_over(job_.at.global_step, clock());
  if (!may && in_.with.keeps(rule::no_lease_no_batch))
    return;
  if (std::exchange(is_spoilt_, false)) {
    member_.fail("a bad sample");
    return raise();
  }
  const auto x = std::move(listed_.front());
  listed_.pop_front();
  const auto at = job_.at.next;
  in_.check.handed_over(life(), at, x.rows);
  count_batch(job_, x);
  end_epoch_if(x.plan.end_of_epoch);
  state_ = trainer::training;
  const auto time = std::chrono::duration<double>(in_.with.step_time).count();
  after(seconds_of(time * in_.net.between(0.5, 2)), [this, at, part = part(), who = seated_] {
    if (seated_ == who && state_ == trainer::training)
      trained(at, part);
  });
  list_ahead();
}

void simulated_rank::trained(const job_position& at, const std::string& part) {
  const auto next = job_.at.next;
  in_.check.trained(life(), at, next, [this, next, part, who = seated_] {
    take([this, next, part, who] {
      if (seated_ == who && state_ == trainer::training)
        go_on(next, part);
    });
  });
}

void simulated_rank::go_on(const job_position& next, const std::string& part) {
  state_ = trainer::waiting;
  save(next, part);
  if (!part.empty() && in_.net.below(3) == 0)
    wait_for_saved(true);
  member_.move_on({next, job_.at.global_step}); // only now, since moving on rules out saving before
  pump();
}

void simulated_rank::save(const job_position& at, const std::string& part) {
  if (!part.empty())
    member_.save(at, std::make_shared<const std::string>(part));
}

void simulated_rank::wait_for_saved(bool waits) {
  waits_ = waits;
  member_.wait_for_saved(waits);
}

/// Hands over the end like a batch.
void simulated_rank::finish() {
  if (!member_.has_lease(clock()) && in_.with.keeps(rule::no_lease_no_batch))
    return;
  in_.check.ended(life());
  state_ = trainer::done;
  member_.finish();
  if (!in_.with.keeps(rule::nobody_leaves_early))
    leave();
}

void simulated_rank::raise() {
  state_ = trainer::failed;
  in_.note("process " + std::to_string(pid()) + " fails: " + member_.failure());
  threw_ = in_.net.now();
}

std::string simulated_rank::describe() const {
  static const char* const names[] = {"away", "catching up", "waiting", "training",
                                      "done", "failed",      "ended"};
  return "process " + std::to_string(pid()) + ": rank " + std::to_string(member_.seat().rank)
         + " term " + std::to_string(member_.term()) + " " + names[static_cast<int>(state_)]
         + " at " + text_of(job_.at.next) + " goal " + text_of(goal_) + " listed "
         + std::to_string(listed_.size()) + " saved " + std::to_string(member_.saved().size())
         + (connection_ ? "" : " not connected") + (member_.has_lease(clock()) ? "" : " no lease")
         + (is_stopped() ? " stopped" : "") + " waits for: " + member_.waits_for();
}

} // namespace leat::test
