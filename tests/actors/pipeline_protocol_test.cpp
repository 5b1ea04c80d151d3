#include "actors/pipeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/deterministic_system.hpp"
#include "tests/support/small_job.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <random>

namespace leat {
namespace {

using namespace std::chrono_literals;

struct job_options {
  dispatch_policy policy = dispatch_policy::on_demand;
  std::size_t workers = 2;
  std::size_t slots = 2;
  std::uint64_t epochs = 1;
  /// Drill of a worker that is being made, by its number and how many were made before it.
  std::function<worker_drill(std::size_t number, std::size_t made)> drill = {};
};

/// A job under the deterministic scheduler, from which the test drives every message.
class job {
public:
  job(deterministic_system& actors, std::shared_ptr<const row_plan> plan, job_options options)
      : actors_(actors) {
    auto make_worker = [this, plan, drill = options.drill](std::size_t number, bool) {
      worker_config config{plan, board_.add(number), {}, lives_};
      if (drill)
        config.drill = drill(number, config.record->id);
      return config;
    };
    const dispatcher_config config{.order = order_of_rank(*plan, options.epochs),
                                   .policy = {plan->shape.lanes, 1, options.policy},
                                   .workers = options.workers,
                                   .make_worker = make_worker,
                                   .detached_workers = false,
                                   .alive = lives_};
    pipeline_ = spawn_pipeline(actors_.system(), config, [this](slot_ptr slot) {
      if (!over()) { // every further slot is another end
        results_.push_back(finished(*slot));
        failures_.push_back(slot->failure);
      }
      held_.push_back(std::move(slot));
    });
    for (std::size_t i = 0; i < options.slots; ++i) {
      auto slot = std::make_shared<batch_slot>(plan->layout, rows_of_rank(*plan));
      slots_.push_back(slot);
      give(std::move(slot));
    }
  }

  ~job() { stop(); }

  /// Ends the actors and lets them go.
  void stop() {
    if (pipeline_.batcher)
      send_exit(pipeline_);
    actors_.run();
    held_.clear();
  }

  bool over() const { return !results_.empty() && results_.back().what == batch_slot::kind::end; }
  const std::vector<finished_batch>& results() const { return results_; }
  const std::vector<std::optional<error>>& failures() const { return failures_; }
  std::size_t workers_made() const { return board_.all().size(); }
  bool nobody_lives() { return lives_->wait_for_none(0s); }
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

  void resize(std::uint64_t n) { caf::anon_send(pipeline_.dispatcher, resize_atom_v, n); }

  /// Ids of the workers that the batcher looks after, also of retired ones.
  std::vector<caf::actor_addr> workers() const {
    std::vector<caf::actor_addr> result;
    for (const auto& [address, id] : batcher_of().workers)
      result.push_back(address);
    return result;
  }

  /// The worker dies at its next message. False if there is none.
  bool kill(std::size_t which, caf::exit_reason reason = caf::exit_reason::kill) {
    auto all = workers();
    if (all.empty())
      return false;
    const auto& victim = all[which % all.size()];
    // Urgent, unlike CAF's own exit messages: what waits in the mailbox is lost with it.
    if (auto alive = caf::actor_cast<caf::strong_actor_ptr>(victim))
      alive->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                     caf::make_message(caf::exit_msg{victim, reason}), nullptr);
    return true;
  }

  /// One message in the order of arrival; slots go back at once. False when nothing is left.
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
  void give(slot_ptr slot) { caf::anon_send(pipeline_.batcher, free_atom_v, std::move(slot)); }

  const batcher_state& batcher_of() const {
    using actor = caf::stateful_actor<batcher_state, batcher_actor::base>;
    return dynamic_cast<actor&>(*caf::actor_cast<caf::abstract_actor*>(pipeline_.batcher)).state;
  }

  deterministic_system& actors_;
  std::shared_ptr<life_count> lives_ = std::make_shared<life_count>();
  worker_board board_;
  pipeline_actors pipeline_;
  std::vector<std::weak_ptr<batch_slot>> slots_;
  std::deque<slot_ptr> held_;
  std::vector<finished_batch> results_;
  std::vector<std::optional<error>> failures_;
};

/// Jobs of two epochs with three batches each, the last of six rows; and what they must give.
struct fixture {
  static constexpr std::uint64_t epochs = 2;

  run_counts counts;
  std::shared_ptr<const row_plan> plan =
      noisy_plan(22, 8, {.lanes = 4, .end = epoch_end::mask}, &counts);
  std::vector<finished_batch> expected = expected_batches(plan, epochs);
  deterministic_system actors;

  fixture() { counts.clear(); }

  job start(job_options options) {
    options.epochs = epochs;
    return job{actors, plan, std::move(options)};
  }

  /// Nothing was lost, repeated or moved; no row was made twice; nothing is left behind.
  void check(job& x) {
    REQUIRE(x.over());
    REQUIRE(x.results() == expected);
    for (const auto& [row, times] : counts)
      REQUIRE(times == 1);
    check_end(x);
  }

  void check_end(job& x) {
    x.stop();
    REQUIRE(x.nobody_lives());
    REQUIRE(x.slots_are_free());
    counts.clear();
  }

  /// Messages of a whole job without faults.
  std::size_t length(const job_options& options) {
    auto x = start(options);
    std::size_t n = 0;
    while (!x.over() && x.step())
      ++n;
    check(x);
    return n;
  }

  /// Lets actors take messages, and slots go back, as chance will have it; `disturb` comes before
  /// each message. Gives up on a job that makes no progress.
  void run_in_any_order(
      job& x, std::mt19937_64& chance, const std::function<void()>& disturb = [] {}) {
    for (int left = 20'000; left > 0 && !x.over(); --left) {
      disturb();
      if (chance() % 4 == 0 || actors.ready() == 0)
        x.give_back(chance());
      actors.step(chance);
    }
  }

  /// Runs the job anew for each of its messages, with `disturb` in front of that message.
  void disturb_everywhere(const job_options& options, const std::function<void(job&)>& disturb) {
    const auto messages = length(options);
    REQUIRE(messages > 20);
    for (std::size_t at = 0; at < messages; ++at) {
      CAPTURE(static_cast<int>(options.policy), options.workers, at);
      auto x = start(options);
      for (std::size_t i = 0; i < at; ++i)
        x.step();
      disturb(x);
      x.finish();
      check(x);
    }
  }
};

TEST_CASE_METHOD(fixture, "pipeline: a job gives the same batches under every policy") {
  REQUIRE(expected.size() == 7);
  for (auto policy : all_policies)
    for (std::size_t workers : {1, 2, 3, 9})
      for (std::size_t slots : {1, 2, 5}) {
        CAPTURE(static_cast<int>(policy), workers, slots);
        length({.policy = policy, .workers = workers, .slots = slots});
      }
}

TEST_CASE_METHOD(fixture,
                 "pipeline: messages in any order and slots back in any order change nothing") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 chance{seed};
    job_options options{.policy = all_policies[chance() % 3],
                        .workers = 1 + chance() % 4,
                        .slots = 1 + chance() % 4};
    CAPTURE(seed, static_cast<int>(options.policy), options.workers, options.slots);
    auto x = start(options);
    run_in_any_order(x, chance);
    check(x);
  }
}

TEST_CASE_METHOD(fixture, "pipeline: a worker may die at any row") {
  for (auto policy : all_policies)
    for (std::size_t workers = 1; workers <= 3; ++workers)
      for (std::size_t victim = 0; victim < workers; ++victim)
        for (std::uint64_t position = 0; position < 22; ++position) {
          CAPTURE(static_cast<int>(policy), workers, victim, position);
          auto x = start({.policy = policy,
                          .workers = workers,
                          .drill = [&](std::size_t number, std::size_t made) {
                            worker_drill drill;
                            if (number == victim && made == victim)
                              drill.die_at = position;
                            return drill;
                          }});
          x.finish();
          check(x);
        }
}

TEST_CASE_METHOD(fixture, "pipeline: a worker may die at any row, in any order of messages") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 chance{seed};
    const std::uint64_t position = chance() % 22;
    job_options options{.policy = all_policies[chance() % 3],
                        .workers = 1 + chance() % 3,
                        .slots = 1 + chance() % 4};
    options.drill = [&](std::size_t number, std::size_t made) {
      worker_drill drill;
      if (number == 0 && made == 0)
        drill.die_at = position;
      return drill;
    };
    CAPTURE(seed, position, static_cast<int>(options.policy), options.workers, options.slots);
    auto x = start(options);
    run_in_any_order(x, chance);
    check(x);
  }
}

TEST_CASE_METHOD(fixture, "pipeline: a worker may be killed between any two messages") {
  for (auto policy : all_policies)
    for (std::size_t workers = 1; workers <= 3; ++workers)
      for (std::size_t victim = 0; victim < workers; ++victim)
        disturb_everywhere({.policy = policy, .workers = workers}, [=](job& x) { x.kill(victim); });
}

TEST_CASE_METHOD(fixture, "pipeline: another reason of a death counts like a kill") {
  disturb_everywhere({}, [](job& x) { x.kill(0, caf::exit_reason::unhandled_exception); });
}

TEST_CASE_METHOD(fixture, "pipeline: all workers may be killed at once") {
  for (auto policy : all_policies)
    disturb_everywhere({.policy = policy, .workers = 3}, [](job& x) {
      for (std::size_t i = x.workers().size(); i > 0; --i)
        x.kill(i - 1);
    });
}

TEST_CASE_METHOD(fixture, "pipeline: a worker that is killed is replaced") {
  auto x = start({.workers = 2});
  for (int i = 0; i < 10; ++i)
    x.step();
  REQUIRE(x.kill(0));
  x.finish();
  CHECK(x.workers_made() == 3);
  check(x);
}

TEST_CASE_METHOD(fixture, "pipeline: workers may come and go between any two messages") {
  for (auto policy : all_policies)
    for (std::uint64_t size : {1, 2, 5})
      disturb_everywhere({.policy = policy, .workers = 3}, [=](job& x) { x.resize(size); });
}

TEST_CASE_METHOD(fixture, "pipeline: a retired worker is not replaced") {
  auto x = start({.workers = 3});
  x.resize(1);
  x.finish();
  CHECK(x.workers_made() == 3);
  CHECK(x.workers().size() == 1);
  check(x);
}

TEST_CASE_METHOD(fixture, "pipeline: workers may be killed while they retire") {
  for (auto policy : all_policies)
    for (std::size_t victim = 0; victim < 3; ++victim)
      for (bool kill_first : {true, false})
        disturb_everywhere({.policy = policy, .workers = 3}, [=, this](job& x) {
          if (kill_first)
            x.kill(victim);
          x.resize(1);
          actors.step();
          if (!kill_first)
            x.kill(victim);
        });
}

TEST_CASE_METHOD(fixture, "pipeline: deaths and resizes in any order of messages change nothing") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 chance{seed};
    job_options options{.policy = all_policies[chance() % 3],
                        .workers = 1 + chance() % 4,
                        .slots = 1 + chance() % 4};
    CAPTURE(seed, static_cast<int>(options.policy), options.workers, options.slots);
    auto x = start(options);
    run_in_any_order(x, chance, [&] {
      const auto what = chance() % 16;
      if (what == 0)
        x.kill(chance());
      else if (what == 1)
        x.resize(1 + chance() % 4);
    });
    check(x);
  }
}

TEST_CASE_METHOD(fixture,
                 "pipeline: a row that outlives two workers fails its batch, in its place") {
  for (auto policy : all_policies)
    for (std::uint64_t position = 0; position < 22; ++position) {
      CAPTURE(static_cast<int>(policy), position);
      // Whoever meets the row first dies, and so does the first that meets it again. With one slot
      // nobody meets a later row before.
      auto x = start(
          {.policy = policy, .workers = 1, .slots = 1, .drill = [&](std::size_t, std::size_t made) {
             worker_drill drill;
             if (made < 2)
               drill.die_at = position;
             return drill;
           }});
      x.finish();
      REQUIRE(x.results().size() == expected.size());
      const auto failed = position / 8;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        REQUIRE((x.results()[i] == expected[i]) == (i != failed));
      }
      REQUIRE(x.results()[failed].what == batch_slot::kind::failed);
      REQUIRE(x.failures()[failed]);
      CHECK(x.failures()[failed]->code() == errc::worker_lost);
      CHECK(x.failures()[failed]->details().sample == "at position " + std::to_string(position));
      CHECK(x.workers_made() == 3);
      check_end(x);
    }
}

TEST_CASE_METHOD(fixture, "pipeline: it may be shut down between any two messages") {
  for (auto policy : all_policies) {
    const job_options options{.policy = policy, .workers = 3};
    const auto messages = length(options);
    for (std::size_t at = 0; at < messages; ++at) {
      CAPTURE(static_cast<int>(policy), at);
      auto x = start(options);
      for (std::size_t i = 0; i < at; ++i)
        x.step();
      check_end(x);
    }
  }
}

TEST_CASE_METHOD(fixture, "pipeline: it may be shut down amid deaths and resizes") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 chance{seed};
    CAPTURE(seed);
    auto x = start({.policy = all_policies[chance() % 3], .workers = 3});
    for (auto n = chance() % 60; n > 0 && !x.over(); --n) {
      if (chance() % 8 == 0)
        x.kill(chance());
      if (chance() % 8 == 0)
        x.resize(1 + chance() % 4);
      x.give_back(chance());
      actors.step(chance);
    }
    check_end(x);
  }
}

} // namespace
} // namespace leat
