#include "tests/support/driven_job.hpp"
#include "tests/support/late_records.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/twins.hpp"

// Jobs whose lanes are lent to workers, message by message: what happens while a lane is lent, with
// every kind of operator that looks at content or waits for it. See iterator_protocol_test.cpp.
namespace leat::lane_protocol_test {
namespace {

constexpr std::uint64_t lanes = 3;
/// Workers that probe the items of the lanes that they run, and some that share them.
constexpr std::array<std::size_t, 3> all_workers{1, 2, 5};

filter_stage keeps(std::uint64_t m) {
  return probing("keeps@1", [m](sample& s) { return number_of(s) % m != 1; });
}

/// With a field `t` of 1 to 3 elements.
pipeline documents(std::uint64_t n) {
  return numbers(n).map("document@1", [](sample& s, context&) {
    for (auto& token : s.make<std::uint64_t>("t", {1 + number_of(s) % 3}))
      token = number_of(s);
  });
}

struct kind {
  const char* name;
  pipeline data;
  std::uint64_t epochs = 2;
};

std::vector<kind> all_kinds() {
  const auto packed = [](const pipeline& x) {
    return x.map(select({"t"})).pack("t", 4, {.bins = 2});
  };
  return {
      {"filters", numbers(20).filter(keeps(3)).shuffle_buffer(6, 3).filter(keeps(4))},
      {"pack", packed(documents(24).shuffle_buffer(9, 3))},
      {"mix",
       mix({numbers(9).filter(keeps(2)), numbers(12).scan(running_count("c")).map(select({"n"}))},
           {.weights = {1, 2}, .stop = mix_stop::cycle})},
      {"mix by cost",
       mix({documents(12), documents(9).shuffle_buffer(6, 2)}, {.cost = "t"}).map(select({"n"}))},
      {"once", once(std::make_shared<late_records>(20)).filter(keeps(3)).shuffle_buffer(6, 3), 1}};
}

std::shared_ptr<job_plan> planned(const pipeline& data, run_counts& counts) {
  const auto plan = plan_of(data.map("noise@1", noise(&counts))
                                .batch(2 * lanes, {.lanes = lanes, .end = epoch_end::mask}),
                            &counts);
  if (!plan->layout)
    plan->layout = layout_after(*plan, {});
  return plan;
}

struct fixture : driven_fixture {
  explicit fixture(const kind& x)
      : driven_fixture([&](run_counts& counts) { return planned(x.data, counts); }, x.epochs) {
    REQUIRE(expected.size() > 3);
  }
};
/// Calls `test` with a fixture and options for each kind of job and number of workers.
template <class Test>
void for_all_jobs(Test test) {
  for (const auto& x : all_kinds()) {
    fixture job{x};
    for (const auto workers : all_workers) {
      CAPTURE(x.name, workers);
      test(job, driven_options{.policy = all_policies[workers % 3], .workers = workers});
    }
  }
}

TEST_CASE("lanes: a worker may be killed between any two messages, whatever its lanes do") {
  for_all_jobs([](fixture& x, const driven_options& options) {
    x.disturb_everywhere(options, [](driven_job& job) { job.kill(0); });
  });
}

TEST_CASE("lanes: workers may come and go between any two messages, whatever their lanes do") {
  for_all_jobs([](fixture& x, const driven_options& options) {
    for (const std::uint64_t size : {1, 5})
      x.disturb_everywhere(options, [=](driven_job& job) { job.resize(size); });
  });
}

TEST_CASE("lanes: a job may be rewound between any two messages") {
  for_all_jobs([](fixture& x, const driven_options& options) {
    if (!x.plan->samples->feeds.empty())
      return; // cannot come again
    x.at_every_message(options, [&](driven_job& job, std::size_t at) {
      job.rewind();
      job.kill(at); // perhaps with a lane of the run before
      job.finish();
      REQUIRE(job.results() == x.expected);
      x.check_end(job);
    });
  });
}

TEST_CASE("lanes: an epoch may be left between any two messages, whatever the lanes do") {
  for_all_jobs(
      [](fixture& x, const driven_options& options) { x.leave_epoch_everywhere(options); });
}

TEST_CASE("lanes: a job that is cancelled between any two messages comes to rest") {
  for_all_jobs([](fixture& x, const driven_options& options) {
    const auto most = 10 * x.length(options);
    x.at_every_message(options, [&](driven_job& job, std::size_t) {
      *x.plan->cancelled = true;
      auto left = most;
      while (left > 0 && job.step())
        --left;
      REQUIRE(left > 0);
      x.check_end(job);
      *x.plan->cancelled = false;
    });
  });
}

TEST_CASE("lanes: several workers may die over one turn, each over another item") {
  const kind filters = all_kinds()[0];
  fixture x{filters};
  auto job = x.start({.workers = 1, .drill = [](std::size_t, std::size_t made) {
                        worker_drill drill;
                        if (made < 4)
                          drill.die_at = lanes * made;
                        return drill;
                      }});
  job.finish();
  x.check(job);
  CHECK(job.workers_made() == 5);
}

/// A random pipeline, with or without an epoch's end; null if an input of a mix is empty.
std::shared_ptr<job_plan> random_plan(std::mt19937_64& chance) {
  test::twin_grower grower{chance()};
  const auto data = grower.grow(2 + static_cast<int>(chance() % 3)).data;
  const auto of_lane = 1 + chance() % 2;
  const auto end = std::array{epoch_end::mask, epoch_end::drop, epoch_end::cycle}[chance() % 3];
  try {
    return plan_of(data.batch(lanes * of_lane, {.lanes = lanes, .end = end}), nullptr);
  } catch (const error&) {
    return nullptr; // without a sample, it has no fields
  }
}

TEST_CASE("lanes: deaths, resizes and messages in any order change nothing of random pipelines") {
  std::size_t jobs = 0;
  for_seeds(3000, [&](std::mt19937_64& chance) {
    const auto plan = random_plan(chance);
    if (!plan)
      return;
    ++jobs;
    driven_fixture x{[&](run_counts&) { return plan; }, 2, 12};
    const auto options = any_options(chance, 5);
    CAPTURE(options);
    auto job = x.start(options);
    x.run_with_faults(job, chance, 5);
    x.check(job);
  });
  CHECK(jobs > 700);
}

} // namespace
} // namespace leat::lane_protocol_test
