#include "tests/support/driven_job.hpp"

namespace leat::pipeline_protocol_test {
namespace {

/// Jobs of two epochs with three batches each, the last of six rows.
struct fixture : driven_fixture {
  fixture()
      : driven_fixture(
          [](run_counts& counts) {
            return noisy_plan(22, 8, {.lanes = 4, .end = epoch_end::mask}, &counts);
          },
          2) {}
};
TEST_CASE_METHOD(fixture, "pipeline: a job gives the same batches under every policy") {
  REQUIRE(expected.size() == 7);
  run_in_all_shapes();
}

TEST_CASE_METHOD(fixture,
                 "pipeline: messages in any order and slots back in any order change nothing") {
  for_seeds(1500, [&](std::mt19937_64& chance) {
    const auto options = any_options(chance, 4);
    CAPTURE(options);
    auto x = start(options);
    run_in_any_order(x, chance);
    check(x);
  });
}

TEST_CASE_METHOD(fixture, "pipeline: a worker may die at any row") {
  for (auto policy : all_policies)
    for (std::size_t workers = 1; workers <= 3; ++workers)
      for (std::size_t victim = 0; victim < workers; ++victim)
        for (std::uint64_t position = 0; position < 22; ++position) {
          CAPTURE(static_cast<int>(policy), workers, victim, position);
          auto x = start({.policy = policy,
                          .workers = workers,
                          .drill = dies_at(position, [&](std::size_t number, std::size_t made) {
                            return number == victim && made == victim;
                          })});
          x.finish();
          check(x);
        }
}

TEST_CASE_METHOD(fixture, "pipeline: a worker may die at any row, in any order of messages") {
  for_seeds(1500, [&](std::mt19937_64& chance) {
    const std::uint64_t position = chance() % 22;
    auto options = any_options(chance, 3);
    options.drill = dies_at(
        position, [](std::size_t number, std::size_t made) { return number == 0 && made == 0; });
    CAPTURE(position, options);
    auto x = start(options);
    run_in_any_order(x, chance);
    check(x);
  });
}

TEST_CASE_METHOD(fixture, "pipeline: a worker may be killed between any two messages") {
  for (auto policy : all_policies)
    for (std::size_t workers = 1; workers <= 3; ++workers)
      for (std::size_t victim = 0; victim < workers; ++victim)
        disturb_everywhere({.policy = policy, .workers = workers},
                           [=](driven_job& x) { x.kill(victim); });
}

TEST_CASE_METHOD(fixture, "pipeline: another reason of a death counts like a kill") {
  disturb_everywhere({}, [](driven_job& x) { x.kill(0, caf::exit_reason::unhandled_exception); });
}

TEST_CASE_METHOD(fixture, "pipeline: all workers may be killed at once") {
  for (auto policy : all_policies)
    kill_all_everywhere({.policy = policy, .workers = 3});
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
      disturb_everywhere({.policy = policy, .workers = 3}, [=](driven_job& x) { x.resize(size); });
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
        disturb_everywhere({.policy = policy, .workers = 3}, [=, this](driven_job& x) {
          if (kill_first)
            x.kill(victim);
          x.resize(1);
          actors.step();
          if (!kill_first)
            x.kill(victim);
        });
}

TEST_CASE_METHOD(fixture, "pipeline: deaths and resizes in any order of messages change nothing") {
  for_seeds(2000, [&](std::mt19937_64& chance) {
    const auto options = any_options(chance, 4);
    CAPTURE(options);
    auto x = start(options);
    run_with_faults(x, chance, 4);
    check(x);
  });
}

TEST_CASE_METHOD(fixture,
                 "pipeline: a row that outlives two workers fails its batch, in its place") {
  for (auto policy : all_policies)
    for (std::uint64_t position = 0; position < 22; ++position) {
      CAPTURE(static_cast<int>(policy), position);
      // The first worker that gets the row dies, and so does the first that gets it again. With one
      // slot no worker gets a later row before that.
      auto x = start({.policy = policy,
                      .workers = 1,
                      .slots = 1,
                      .drill = dies_at(position, [](auto, auto made) { return made < 2; })});
      x.finish();
      REQUIRE(x.results().size() == expected.size());
      const auto failed = position / 8;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        REQUIRE((x.results()[i] == expected[i]) == (i != failed));
      }
      REQUIRE(x.results()[failed].what == batch_plan::kind::failed);
      REQUIRE(x.failures()[failed]);
      CHECK(x.failures()[failed]->code() == errc::worker_lost);
      CHECK(x.failures()[failed]->details().sample == "at position " + std::to_string(position));
      CHECK(x.workers_made() == 3);
      check_end(x);
    }
}

TEST_CASE_METHOD(fixture, "pipeline: it may be shut down between any two messages") {
  for (auto policy : all_policies)
    shut_down_everywhere({.policy = policy, .workers = 3});
}

TEST_CASE_METHOD(fixture, "pipeline: it may be shut down amid deaths and resizes") {
  for_seeds(1500, [&](std::mt19937_64& chance) {
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
  });
}

} // namespace
} // namespace leat::pipeline_protocol_test
