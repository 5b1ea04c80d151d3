#include "tests/support/driven_job.hpp"
#include "tests/support/stages.hpp"

namespace leat::iterator_protocol_test {
namespace {

constexpr std::uint64_t records = 40;

bool passes_first(std::uint64_t n) {
  return n % 3 != 1;
}
bool passes_second(std::uint64_t n) {
  return n % 4 != 2;
}

struct look_record {
  /// How often each filter probed each number.
  std::map<std::pair<std::string, std::uint64_t>, int> looks;
  /// A filter that counts what it probes.
  filter_stage filter(const std::string& name, bool (*passes)(std::uint64_t)) {
    return probing(name, [=, this](sample& s) {
      ++looks[{name, number_of(s)}];
      return passes(number_of(s));
    });
  }
};

/// Three rounds: two filters probe content, the second one what a map made. Up to four workers, as
/// there are lanes, probe the items of the lanes that they run; more of them share the items.
struct fixture : look_record, driven_fixture {
  explicit fixture(epoch_end end, std::uint64_t epochs_ = 2, std::size_t most = SIZE_MAX)
      : driven_fixture([&](run_counts& counts) { return plan_for(end, counts); }, epochs_, most) {
    looks.clear();
  }

  std::shared_ptr<job_plan> plan_for(epoch_end end, run_counts& counts) {
    auto data = numbers(records)
                    .shuffle({.seed = 5})
                    .filter(filter("first@1", passes_first))
                    .shuffle_buffer(12, 3)
                    .map("double@1", [](sample& s, context&) { s.set("m", 2 * number_of(s)); })
                    .filter(filter("second@1", passes_second))
                    .map("noise@1", noise(&counts));
    return plan_of(data.batch(8, {.lanes = 4, .end = end}), &counts);
  }
};

struct masked : fixture {
  masked() : fixture(epoch_end::mask) {}

  /// Like check(), and no sample was probed twice.
  void check_looks(driven_job& x) {
    check(x);
    for (std::uint64_t n = 0; n < records; ++n) {
      CAPTURE(n);
      REQUIRE(looks[{"first@1", n}] == 2);
      REQUIRE(looks[{"second@1", n}] == (passes_first(n) ? 2 : 0));
    }
    looks.clear();
  }
};

struct dropped : fixture {
  dropped() : fixture(epoch_end::drop) {}
};

/// Eight batches: most lanes are in their third pass.
struct endless : fixture {
  endless() : fixture(epoch_end::cycle, 1, 8) {}
};

TEST_CASE("iterators: a job gives the same batches under every policy") {
  masked with_mask;
  REQUIRE(with_mask.expected.size() == 8);
  with_mask.run_in_all_shapes();
  dropped with_drop;
  REQUIRE(with_drop.expected.size() == 4);
  with_drop.run_in_all_shapes();
  endless x;
  REQUIRE(x.expected.size() == 8);
  x.run_in_all_shapes();
}

TEST_CASE_METHOD(masked, "iterators: nobody looks twice at what a filter has seen") {
  for (auto policy : all_policies) {
    for (const std::size_t workers : {3, 5}) {
      auto x = start({.policy = policy, .workers = workers});
      x.finish();
      check_looks(x);
    }
  }
}

/// Runs a random job for each seed, under each end.
template <class Run>
void for_each_end(std::uint64_t seeds, Run run) {
  masked with_mask;
  dropped with_drop;
  endless without_end;
  for (fixture* x : {static_cast<fixture*>(&with_mask), static_cast<fixture*>(&with_drop),
                     static_cast<fixture*>(&without_end)})
    for_seeds(seeds, [&](std::mt19937_64& chance) {
      const auto options = any_options(chance, 6);
      CAPTURE(options);
      auto job = x->start(options);
      run(*x, job, chance);
      x->check(job);
    });
}

TEST_CASE("iterators: messages in any order and slots back in any order change nothing") {
  for_each_end(700,
               [](fixture& x, driven_job& job, auto& chance) { x.run_in_any_order(job, chance); });
}

TEST_CASE_METHOD(masked, "iterators: a worker may die at any row, and at any item that it probes") {
  for (auto policy : all_policies)
    for (const std::size_t workers : {1, 2, 3, 5})
      for (std::uint64_t position = 0; position < records; ++position) {
        CAPTURE(static_cast<int>(policy), workers, position);
        auto x = start({.policy = policy,
                        .workers = workers,
                        .drill = dies_at(position, [&](std::size_t, std::size_t made) {
                          return made == workers - 1;
                        })});
        x.finish();
        check_looks(x);
      }
}

TEST_CASE_METHOD(masked, "iterators: a worker may be killed between any two messages") {
  for (auto policy : all_policies)
    for (const std::size_t workers : {1, 2, 3, 5})
      disturb_everywhere({.policy = policy, .workers = workers}, [](driven_job& x) { x.kill(0); });
}

TEST_CASE("iterators: a worker may be killed between any two messages under other ends, too") {
  dropped with_drop;
  with_drop.disturb_everywhere({.workers = 2}, [](driven_job& x) { x.kill(1); });
  endless x;
  x.disturb_everywhere({.workers = 2}, [](driven_job& job) { job.kill(1); });
}

TEST_CASE_METHOD(masked, "iterators: all workers may be killed at once") {
  for (auto policy : all_policies)
    kill_all_everywhere({.policy = policy, .workers = 3});
}

TEST_CASE_METHOD(masked, "iterators: workers may come and go between any two messages") {
  for (auto policy : all_policies)
    for (std::uint64_t size : {1, 5})
      disturb_everywhere({.policy = policy, .workers = 3}, [=](driven_job& x) { x.resize(size); });
}

TEST_CASE("iterators: deaths and resizes in any order of messages change nothing") {
  for_each_end(
      700, [](fixture& x, driven_job& job, auto& chance) { x.run_with_faults(job, chance, 4); });
}

TEST_CASE_METHOD(masked, "iterators: what kills every worker fails the batch that needs it") {
  for (auto policy : all_policies)
    for (std::uint64_t position = 0; position < records; ++position) {
      CAPTURE(static_cast<int>(policy), position);
      auto x = start({.policy = policy, .drill = [&](std::size_t, std::size_t) {
                        return worker_drill{.die_at = position};
                      }});
      const auto first_failed = [&] {
        return std::find_if(x.results().begin(), x.results().end(), [](const auto& batch) {
          return batch.what == batch_plan::kind::failed;
        });
      };
      while (first_failed() == x.results().end() && x.step())
        ;
      REQUIRE(first_failed() != x.results().end());
      const auto failed = static_cast<std::size_t>(first_failed() - x.results().begin());
      REQUIRE(failed <= position / 8);
      for (std::size_t i = 0; i < failed; ++i)
        REQUIRE(x.results()[i] == expected[i]);
      const auto& failure = *x.failures()[failed];
      REQUIRE(failure.code() == errc::worker_lost);
      REQUIRE(failure.details().stage == "worker");
      REQUIRE(failure.details().sample.starts_with("at position "));
      check_end(x);
    }
}

TEST_CASE_METHOD(masked, "iterators: an epoch may be left between any two messages") {
  const auto batches = std::count_if(expected.begin(), expected.end(), [](const auto& x) {
    return x.what == batch_plan::kind::batch && x.epoch == 0;
  });
  for (auto policy : all_policies)
    CHECK(std::ssize(leave_epoch_everywhere({.policy = policy, .workers = 2})) == batches + 1);
}

TEST_CASE_METHOD(masked, "iterators: it may be shut down between any two messages") {
  for (auto policy : all_policies)
    shut_down_everywhere({.policy = policy, .workers = 3});
}

} // namespace
} // namespace leat::iterator_protocol_test
