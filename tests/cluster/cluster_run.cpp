#include "tests/cluster/cluster_run.hpp"

#include <leat/error.hpp>

namespace leat::test {

namespace {

constexpr std::uint64_t coordinator_host = 1000;
constexpr std::uint64_t twin_host = 2000;

} // namespace

cluster_run::cluster_run(std::uint64_t seed, focus where, std::set<rule> left_out, bool verbose)
    : net_(seed), with_(make_scenario(net_, where)), verbose_(verbose) {
  if (!with_)
    return;
  with_->left_out = std::move(left_out);
  judge_.emplace(*with_);
  cluster_.emplace(simulated_cluster{net_, *with_, disk_, *judge_});
  cluster_->before_state_is_written = [this] {
    if (net_.now() < with_->storm && net_.happens(0.03) && lead())
      start_coordinator();
  };
  if (verbose_)
    cluster_->note = [this](const std::string& x) { note(x); };
  net_.in(seconds_of(net_.between(0, 2)), [this] { start_coordinator(); });
  const auto spread = net_.one_of({0.5, 5.0});
  const auto begin = with_->has_false_start ? 5.0 : 0.0;
  for (std::uint64_t i = 0; i < with_->ranks + with_->spares; ++i)
    net_.in(seconds_of(begin + net_.between(0, spread)), [this, i] { start_rank(i); });
  if (with_->has_false_start)
    net_.in(seconds_of(0.1), [this] { start_falsely(); });
  if (with_->has_stranger)
    net_.in(seconds_of(net_.between(8, 12)), [this] {
      net_.start<simulated_rank>(*cluster_, twin_host, given(0), belonging::stranger);
    });
  if (!with_->faults.empty())
    for (auto t = seconds_of(begin + 1); t < with_->storm; t += with_->between_faults)
      net_.in(t + seconds_of(net_.between(0, 1)), [this] { strike(); });
  if (with_->has_bad_sample)
    net_.in(seconds_of(net_.between(3, 7)), [this] { spoil(); });
  net_.in(seconds_of(1), [this] { keep_up(); });
}

run_result cluster_run::result() {
  run_result x;
  if (!with_)
    return {.what = outcome::skipped, .text = {}, .counts = {}};
  const auto per_batch = with_->step_time * 4 + with_->list_time * 4;
  const auto limit =
      with_->storm + seconds_of(90) + per_batch * static_cast<int>(with_->job->batches().size());
  try {
    net_.run(limit);
    if (!is_over()) {
      x.what = outcome::stuck;
      x.text = describe();
    } else {
      judge_->check_end(state(), disk_);
      check_failure_was_told();
      if (net_.happens(0.3))
        judge_->check_elsewhere(net_, disk_);
    }
  } catch (const std::exception& problem) {
    x.what = outcome::wrong;
    x.text = problem.what();
  }
  x.counts = judge_->counts();
  x.events = net_.events();
  x.faults = faults_;
  return x;
}

/// Checks that a failure is reported soon, or soon after the storm.
void cluster_run::check_failure_was_told() const {
  if (!spoilt_)
    return;
  const auto latest = std::max(*spoilt_, with_->storm) + seconds_of(20);
  for (const auto& x : net_.processes())
    if (const auto* rank = dynamic_cast<const simulated_rank*>(x.get());
        rank && rank->threw() > latest)
      judge::wrong("an error that came late");
}

void cluster_run::note(const std::string& what) const {
  if (verbose_)
    std::cout << std::chrono::duration<double>(net_.now()).count() << " " << what << "\n";
}

// -- the launcher

coordinator_state cluster_run::state() const {
  if (disk_.states.empty())
    return {};
  return decode_coordinator_state(disk_.states.rbegin()->second, "state");
}

std::vector<simulated_process*> cluster_run::living() const {
  std::vector<simulated_process*> all;
  for (const auto& x : net_.processes())
    if (x->is_alive() && !x->is_stopped())
      all.push_back(x.get());
  return all;
}

simulated_coordinator* cluster_run::lead() const {
  for (const auto& x : net_.processes())
    if (auto* lead = dynamic_cast<simulated_coordinator*>(x.get()); lead && lead->is_alive())
      return lead;
  return nullptr;
}

bool cluster_run::is_over() const {
  return state().phase == job_phase::over
         && std::none_of(net_.processes().begin(), net_.processes().end(),
                         [](const auto& x) { return x->is_alive(); });
}

void cluster_run::start_coordinator() {
  if (state().phase == job_phase::over || disk_.is_broken)
    return;
  auto& x = net_.start<simulated_coordinator>(*cluster_, coordinator_host);
  note("coordinator: process " + std::to_string(x.pid()));
}

void cluster_run::start_rank(std::uint64_t number) {
  if (state().phase == job_phase::over)
    return;
  const auto old = ranks_.find(number);
  const auto host =
      old != ranks_.end() && net_.happens(0.6) ? old->second->host() : number * 10 + net_.below(10);
  auto& x = net_.start<simulated_rank>(*cluster_, host, given(number), belonging::member);
  ranks_[number] = &x;
  note("rank " + std::to_string(number) + ": process " + std::to_string(x.pid()));
}

/// Starts a first process with other rules, which must not matter any more once it is gone.
void cluster_run::start_falsely() {
  auto& x = net_.start<simulated_rank>(*cluster_, twin_host, given(0), belonging::false_start);
  net_.in(seconds_of(net_.between(2, 3)), [this, &x] { net_.kill(x, net_.happens(0.7)); });
}

void cluster_run::start_again(simulated_process& x) {
  if (dynamic_cast<simulated_coordinator*>(&x))
    return start_coordinator();
  for (const auto& [number, rank] : ranks_)
    if (rank == &x)
      return start_rank(number);
}

/// Restarts whatever has ended, in good weather.
void cluster_run::keep_up() {
  if (is_over())
    return net_.stop();
  net_.in(seconds_of(1), [this] { keep_up(); });
  if (state().phase == job_phase::over)
    return;
  if (net_.now() <= with_->storm)
    return;
  disk_.is_full = false;
  disk_.is_broken = false;
  if (!lead() && net_.now() > seconds_of(3))
    start_coordinator();
  for (const auto& [number, rank] : std::map(ranks_))
    if (!rank->is_alive())
      start_rank(number);
}

// -- the weather

void cluster_run::spoil() {
  for (auto* x : living())
    if (auto* rank = dynamic_cast<simulated_rank*>(x); rank && rank->is_training()) {
      rank->spoil();
      spoilt_ = net_.now();
      note("the next batch of process " + std::to_string(x->pid()) + " is bad");
      return;
    }
}

void cluster_run::strike() {
  if (state().phase != job_phase::over)
    strike(net_.one_of(with_->faults));
}

void cluster_run::kill_for_a_while(simulated_process& x, bool told) {
  if (!x.is_alive())
    return;
  net_.kill(x, told);
  net_.in(seconds_of(net_.one_of({0.2, 1.0, 4.0}) * net_.between(0, 1)),
          [this, &x] { start_again(x); });
}

void cluster_run::strike(fault what) {
  const auto all = living();
  if (all.empty())
    return;
  ++faults_;
  auto* x = net_.one_of(all);
  auto* other = net_.one_of(all);
  const bool told = net_.happens(0.7);
  if (what == fault::leader) {
    if (auto* leader = lead())
      x = leader;
    what = net_.one_of({fault::kill, fault::stop, fault::leader});
  }
  note("fault " + std::to_string(static_cast<int>(what)) + " of process "
       + std::to_string(x->pid()));
  switch (what) {
  case fault::kill:
    kill_for_a_while(*x, told);
    break;
  case fault::stop: {
    const auto time = net_.one_of({0.3, 1.2, 2.5, 6.0}) * net_.between(0.5, 1.5);
    net_.pause(*x, seconds_of(time));
    if (time > 1 && net_.happens(0.6)) // the launcher believes that it is dead
      net_.in(seconds_of(time * net_.between(0, 1)), [this, x] { start_again(*x); });
    break;
  }
  case fault::disconnect:
    net_.break_between(*x, *other, told);
    break;
  case fault::cut:
    if (x->host() != other->host())
      net_.cut(x->host(), other->host(), seconds_of(net_.one_of({0.4, 1.5, 5.0})),
               net_.one_of({simulated_network::cut_kind::told, simulated_network::cut_kind::silent,
                            simulated_network::cut_kind::delaying}));
    break;
  case fault::slow:
    net_.slow_down(*x, net_.one_of({5.0, 30.0}), seconds_of(5));
    break;
  case fault::twin:
    if (const auto* rank = dynamic_cast<simulated_rank*>(x))
      net_.start<simulated_rank>(*cluster_, twin_host + ++twins_, rank->given_rank(),
                                 belonging::member);
    break;
  case fault::leader:
    start_coordinator();
    break;
  case fault::broken_directory:
    disk_.is_broken = true;
    net_.in(seconds_of(net_.between(0.1, 2)), [this] { disk_.is_broken = false; });
    break;
  case fault::host:
    for (auto* one : all)
      if (one->host() == x->host())
        kill_for_a_while(*one, false);
    break;
  case fault::both:
    if (auto* leader = lead())
      kill_for_a_while(*leader, told);
    if (const auto rank = ranks_.find(0); rank != ranks_.end())
      kill_for_a_while(*rank->second, told);
    break;
  case fault::full_disk:
    disk_.is_full = true;
    net_.in(seconds_of(net_.between(0.5, 3)), [this] { disk_.is_full = false; });
    break;
  }
}

std::string cluster_run::describe() const {
  std::string text = "stuck in phase " + std::to_string(static_cast<int>(state().phase)) + " term "
                     + std::to_string(state().term) + ", stored "
                     + (disk_.newest_set() ? text_of(*disk_.newest_set()) : "nothing") + ", end "
                     + text_of(with_->job->end());
  for (const auto& x : net_.processes()) {
    if (!x->is_alive())
      continue;
    if (const auto* rank = dynamic_cast<const simulated_rank*>(x.get()))
      text += "\n  " + rank->describe();
    else if (const auto* one = dynamic_cast<const simulated_coordinator*>(x.get()))
      text += "\n  coordinator " + std::to_string(x->pid()) + ": target "
              + (one->value().sets().target() ? text_of(*one->value().sets().target()) : "none");
  }
  return text;
}

} // namespace leat::test
