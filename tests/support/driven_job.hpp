#pragma once

#include "actors/pipeline.hpp"
#include "runtime/job/job_order.hpp"
#include "tests/support/actor_state.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/standard.hpp"

namespace leat {

struct driven_options {
  dispatch_policy policy = dispatch_policy::on_demand;
  std::size_t workers = 2;
  std::size_t slots = 2;
  std::uint64_t epochs = 1;
  /// How many batches to take from a job without end.
  std::size_t most = SIZE_MAX;
  /// The drill of a worker that is being created, by its number and how many were created before
  /// it.
  std::function<worker_drill(std::size_t number, std::size_t made)> drill = {};
};

inline std::ostream& operator<<(std::ostream& to, const driven_options& x) {
  return to << "policy " << static_cast<int>(x.policy) << ", " << x.workers << " workers, "
            << x.slots << " slots";
}

/// The drill of a worker that dies at a position, if `which` says so.
template <class Which>
auto dies_at(std::uint64_t position, Which which) {
  return [position, which](std::size_t number, std::size_t made) {
    return which(number, made) ? worker_drill{.die_at = position} : worker_drill{};
  };
}

/// Any policy, so many workers at most, and one to four slots.
inline driven_options any_options(std::mt19937_64& chance, std::size_t most_workers) {
  return {.policy = all_policies[chance() % 3],
          .workers = 1 + chance() % most_workers,
          .slots = 1 + chance() % 4};
}

/// Calls `each` with the chance of every seed that is drawn.
template <class Each>
void for_seeds(std::uint64_t seeds, Each each) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (!test::is_drawn(seed))
      continue;
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    each(chance);
  }
}

/// A job under the deterministic scheduler, in which the test drives every message.
class driven_job {
public:
  driven_job(deterministic_system& actors, std::shared_ptr<const job_plan> plan,
             driven_options options)
      : actors_(actors), most_(options.most) {
    auto make_worker = [this, plan, drill = options.drill](std::size_t number, bool) {
      worker_config config{plan, board_.add(number), {}, lives_};
      if (drill)
        config.drill = drill(number, config.record->id);
      return config;
    };
    rank_job job;
    job.plan = plan;
    job.epochs = options.epochs;
    const auto again = std::make_shared<restart_place>();
    again->set(job);
    const auto order = std::make_shared<job_order>(job, run_, again, nullptr, nullptr);
    const dispatcher_config config{.order = order,
                                   .policy = {plan->shape.lanes, 1, options.policy},
                                   .rows_a_probe = 3,
                                   .lanes = static_cast<std::size_t>(plan->shape.lanes),
                                   .feeds = plan->samples->feeds,
                                   .workers = options.workers,
                                   .make_worker = make_worker,
                                   .alive = lives_};
    pipeline_ = spawn_pipeline(actors_.system(), config, [this](slot_ptr slot) {
      if (slot->run() == run_ && !over()) { // after the end, every slot holds another end
        results_.push_back(finished(*slot));
        failures_.push_back(slot->plan().failure);
      }
      held_.push_back(std::move(slot));
    });
    for (std::size_t i = 0; i < options.slots; ++i) {
      auto slot = std::make_shared<batch_slot>(plan->layout, rows_of_rank(*plan));
      slots_.push_back(slot);
      give(std::move(slot));
    }
  }

  ~driven_job() { stop(); }

  /// Ends the actors and releases them.
  void stop() {
    if (pipeline_.batcher)
      send_exit(pipeline_);
    actors_.run();
    held_.clear();
  }

  bool over() const {
    return results_.size() == most_
           || (!results_.empty() && results_.back().what == batch_plan::kind::end);
  }
  const std::vector<finished_batch>& results() const { return results_; }
  const std::vector<std::optional<error>>& failures() const { return failures_; }
  std::size_t workers_made() const { return board_.num_workers(); }
  bool nobody_lives() { return lives_->wait_for_none(std::chrono::seconds{0}); }
  bool slots_are_free() const {
    return std::all_of(slots_.begin(), slots_.end(), [](const auto& x) { return x.expired(); });
  }

  /// Gives back the slot of some finished batch, if there is one.
  void give_back(std::size_t which = 0) {
    if (held_.empty())
      return;
    auto slot = held_.begin() + static_cast<std::ptrdiff_t>(which % held_.size());
    give(std::move(*slot));
    held_.erase(slot);
  }

  void begin_epoch(std::uint64_t epoch) {
    caf::anon_send(pipeline_.dispatcher, epoch_atom_v, epoch);
  }
  /// What follows are the batches of a new run.
  void rewind() {
    results_.clear();
    failures_.clear();
    caf::anon_send(pipeline_.dispatcher, rewind_atom_v, ++run_);
  }
  void resize(std::uint64_t n) { caf::anon_send(pipeline_.dispatcher, resize_atom_v, n); }

  /// Workers that exist, also retired ones.
  std::vector<caf::actor_addr> workers() const {
    return state_of<dispatcher_state>(pipeline_.dispatcher).workers();
  }

  /// Makes the worker die at its next message. False if it does not exist.
  bool kill(std::size_t which, caf::exit_reason reason = caf::exit_reason::kill) {
    auto all = workers();
    if (all.empty())
      return false;
    const auto& victim = all[which % all.size()];
    // Urgent, unlike CAF's own exit messages, so that what waits in the mailbox is lost with it.
    if (auto alive = caf::actor_cast<caf::strong_actor_ptr>(victim))
      alive->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                     caf::make_message(caf::exit_msg{victim, reason}), nullptr);
    return true;
  }

  /// Runs one message in the order of arrival; gives slots back at once. False if nothing is left.
  bool step() {
    while (!over() && !held_.empty())
      give_back();
    return actors_.step();
  }

  void finish() {
    while (!over() && step())
      ;
  }

private:
  void give(slot_ptr slot) {
    if (slot->state() != slot_state::free)
      slot->release();
    caf::anon_send(pipeline_.batcher, free_atom_v, std::move(slot));
  }

  deterministic_system& actors_;
  std::size_t most_;
  std::uint64_t run_ = 0;
  std::shared_ptr<gate> lives_ = std::make_shared<gate>();
  worker_board board_;
  pipeline_actors pipeline_;
  std::vector<std::weak_ptr<batch_slot>> slots_;
  std::deque<slot_ptr> held_;
  std::vector<finished_batch> results_;
  std::vector<std::optional<error>> failures_;
};

/// Runs one job many times under the deterministic scheduler, and knows its expected result.
struct driven_fixture {
  run_counts counts;
  std::shared_ptr<const job_plan> plan;
  std::uint64_t epochs;
  std::vector<finished_batch> expected;
  deterministic_system actors;

  /// `make` returns the plan, whose last map counts its runs.
  driven_fixture(const std::function<std::shared_ptr<job_plan>(run_counts&)>& make,
                 std::uint64_t epochs_, std::size_t most = SIZE_MAX)
      : plan(make(counts)), epochs(epochs_), expected(expected_batches(plan, epochs, most)) {
    counts.clear();
  }

  driven_job start(driven_options options) {
    options.epochs = epochs;
    options.most = expected.size();
    return {actors, plan, std::move(options)};
  }

  /// Checks that nothing was lost, repeated or moved, that no row was made twice, and that nothing
  /// is left over.
  void check(driven_job& x) {
    REQUIRE(x.over());
    REQUIRE(x.results() == expected);
    for (const auto& [row, times] : counts)
      REQUIRE(times == 1);
    check_end(x);
  }

  void check_end(driven_job& x) {
    x.stop();
    REQUIRE(x.nobody_lives());
    REQUIRE(x.slots_are_free());
    counts.clear();
  }

  /// The number of messages of a whole job without faults.
  std::size_t length(const driven_options& options) {
    auto x = start(options);
    std::size_t n = 0;
    while (!x.over() && x.step())
      ++n;
    check(x);
    return n;
  }

  void run_in_all_shapes() {
    for (const auto policy : all_policies)
      for (const std::size_t workers : {1, 2, 3, 9})
        for (const std::size_t slots : {1, 2, 5}) {
          CAPTURE(static_cast<int>(policy), workers, slots);
          length({.policy = policy, .workers = workers, .slots = slots});
        }
  }

  /// Runs messages and gives back slots in random order, and calls `disturb` before each message.
  /// Gives up on a job that makes no progress.
  void run_in_any_order(
      driven_job& x, std::mt19937_64& chance, const std::function<void()>& disturb = [] {}) {
    for (int left = 20'000; left > 0 && !x.over(); --left) {
      disturb();
      if (chance() % 4 == 0 || actors.ready() == 0)
        x.give_back(chance());
      actors.step(chance);
    }
  }

  /// The same, with workers that die now and then, and others in their place, `most` at most.
  void run_with_faults(driven_job& x, std::mt19937_64& chance, std::uint64_t most) {
    run_in_any_order(x, chance, [&] {
      const auto what = chance() % 16;
      if (what == 0)
        x.kill(chance());
      else if (what == 1)
        x.resize(1 + chance() % most);
    });
  }

  /// Runs the job again for each of its messages, and calls `each` before that message.
  template <class Each>
  void at_every_message(const driven_options& options, Each each) {
    const auto messages = length(options);
    REQUIRE(messages > 20);
    for (std::size_t at = 0; at < messages; ++at) {
      CAPTURE(options, at);
      auto x = start(options);
      for (std::size_t i = 0; i < at; ++i)
        x.step();
      each(x, at);
    }
  }

  /// The same, and the job must not show that `disturb` was called.
  void disturb_everywhere(const driven_options& options,
                          const std::function<void(driven_job&)>& disturb) {
    at_every_message(options, [&](driven_job& x, std::size_t) {
      disturb(x);
      x.finish();
      check(x);
    });
  }

  void kill_all_everywhere(const driven_options& options) {
    disturb_everywhere(options, [](driven_job& x) {
      for (std::size_t i = x.workers().size(); i > 0; --i)
        x.kill(i - 1);
    });
  }

  /// A job that ends amid its messages leaves nothing.
  void shut_down_everywhere(const driven_options& options) {
    at_every_message(options, [&](driven_job& x, std::size_t) { check_end(x); });
  }

  /// Leaves the first of two epochs at every message. What was handed over of it is what is due,
  /// and then comes the second. Returns how many batches of the first there were.
  std::set<std::size_t> leave_epoch_everywhere(const driven_options& options) {
    std::set<std::size_t> begun;
    const auto second = std::find_if(expected.begin(), expected.end(),
                                     [](const finished_batch& x) { return x.epoch == 1; });
    if (second == expected.end())
      return begun;
    at_every_message(options, [&](driven_job& x, std::size_t) {
      x.begin_epoch(1);
      x.finish();
      REQUIRE(x.over());
      const auto& got = x.results();
      const auto due = static_cast<std::ptrdiff_t>(expected.end() - second);
      REQUIRE(std::ssize(got) >= due);
      REQUIRE(std::equal(second, expected.end(), got.end() - due));
      REQUIRE(std::equal(got.begin(), got.end() - due, expected.begin()));
      begun.insert(got.size() - static_cast<std::size_t>(due));
      check_end(x);
    });
    return begun;
  }
};

} // namespace leat
