#include "tests/support/catch.hpp"
#include "tests/support/drain.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

#include <nlohmann/json.hpp>

namespace leat::test::loader_statistics_test {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

/// Takes some time, in a way that no compiler sees through.
void work(std::size_t rounds) {
  std::atomic<std::size_t> sum{0};
  for (std::size_t i = 0; i < rounds; ++i)
    sum.fetch_add(i, std::memory_order_relaxed);
}

TEST_CASE("stats say where the time goes, by stage") {
  const auto spend = [](sample&, context&) { work(1'000); };
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    // The second half of an epoch passes through another map than the first.
    loader job{
        concat({count(400).map("first@1", spend), count(400).map("second@1", spend)}).batch(20),
        {.workers = workers, .epochs = 1}};
    REQUIRE(job.next());
    auto stages = job.stats().stages;
    REQUIRE(stages.size() == 5);
    REQUIRE(stages[0].what == stage_stats::kind::reading);
    REQUIRE(stages[1].what == stage_stats::kind::reading);
    REQUIRE(stages[2].name == "first@1");
    REQUIRE(stages[2].what == stage_stats::kind::function);
    REQUIRE(stages[3].name == "second@1");
    REQUIRE(stages[4].what == stage_stats::kind::writing);
    REQUIRE(stages[2].time > nanoseconds{0});
    if (workers == 0) // nothing is made ahead
      REQUIRE(stages[3].time == nanoseconds{0});
    drain(job);
    stages = job.stats().stages;
    for (const auto& x : stages)
      REQUIRE(x.time > nanoseconds{0});
  }
}

TEST_CASE("stages of small rows are estimated from some of them") {
  loader job{count(100'000).map("small@1", [](sample&, context&) {}).batch(256), {.workers = 1}};
  drain(job);
  const auto stats = job.stats();
  for (const auto& x : stats.stages)
    REQUIRE(x.time > nanoseconds{0});
}

TEST_CASE("stats may be asked for by any thread while the job runs") {
  loader job{count(20'000).shuffle_buffer(50).batch(20, {.lanes = 4, .end = epoch_end::drop}),
             {.workers = 2}};
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> looks = 0;
  std::jthread watcher{[&] {
    std::uint64_t before = 0;
    while (!is_over) {
      const auto now = job.stats().batches;
      if (now < before)
        std::terminate();
      before = now;
      ++looks;
    }
  }};
  std::uint64_t batches = 0;
  while (const auto batch = job.next())
    ++batches;
  while (looks == 0)
    std::this_thread::yield();
  is_over = true;
  REQUIRE(job.stats().batches == batches);
  REQUIRE(job.stats().samples == 20 * batches);
}

TEST_CASE("slots are counted by what they are in") {
  loader job{count(1000).batch(10), {.workers = 1, .prefetch = 3, .leases = 2}};
  REQUIRE(job.stats().slots.leased == 0);
  const auto a = job.next();
  const auto b = job.next();
  auto now = job.stats().slots;
  REQUIRE(now.leased == 2);
  REQUIRE(now.free + now.making + now.ready + now.leased >= 4);
}

TEST_CASE("small batches of bytes are made further ahead, until larger ones come") {
  constexpr std::uint64_t small = 8 * 1000;
  const auto sized = [](sample& x, context& in) {
    x.set("bytes", std::string(in.position() < small ? 10 : 100'000, 'x'));
  };
  loader job{count(2 * small).map("sized@1", sized).batch(100), {.workers = 2, .leases = 1}};
  std::int64_t most = 0;
  std::int64_t last = 0;
  std::uint64_t rows = 0;
  while (const auto batch = job.next()) {
    const auto offsets = batch->field("bytes").offsets;
    REQUIRE(offsets.back() == 100 * (rows < small ? 10 : 100'000));
    rows += batch->valid_rows();
    const auto slots = job.stats().slots;
    last = static_cast<std::int64_t>(slots.free + slots.making + slots.ready + slots.leased);
    most = std::max(most, last);
  }
  CHECK(rows == 2 * small);
  CHECK(most >= 16);
  CHECK(last <= 4); // two, the leased one, and what has not come back yet
}

TEST_CASE("the size of a snapshot is that of the last one that was taken") {
  const temporary_directory at;
  loader job{count(1000).batch(10), {.workers = 1}};
  const auto batch = job.next();
  REQUIRE(job.stats().snapshot_bytes == 0);
  const auto bytes = batch->snapshot().size();
  REQUIRE(job.stats().snapshot_bytes == bytes);
  job.save(at / "snapshots");
  job.wait_saved();
  REQUIRE(job.stats().snapshot_bytes >= bytes);
}

TEST_CASE("bad samples of a restored job are counted on") {
  const auto data = count(100).map("bad@1", [](sample&, context& in) {
    if (in.position() % 10 == 0)
      throw bad_sample(cause::function_error, "on purpose");
  });
  const loader_options options{.workers = 1, .bad_samples = bad_sample_policy::mask};
  const auto all = [](const loader& x) {
    const auto bad = x.stats().bad;
    return std::accumulate(bad.begin(), bad.end(), std::uint64_t{0});
  };
  std::string state;
  {
    loader job{data.batch(20), options};
    state = job.next()->snapshot();
    REQUIRE(all(job) == 2);
  }
  loader job{data.batch(20), options};
  job.restore_parts({state});
  REQUIRE(all(job) == 2);
  job.next();
  REQUIRE(all(job) == 4);
  job.rewind();
  REQUIRE(all(job) == 0);
}

std::vector<std::string> ids_with(std::size_t workers, std::shared_ptr<trace> shown = {}) {
  loader job{count(2000).shuffle({.seed = 5}).batch(10),
             {.workers = workers, .trace = std::move(shown)}};
  std::vector<std::string> ids;
  while (const auto batch = job.next())
    for (auto& id : batch->ids())
      ids.push_back(std::move(id));
  return ids;
}

TEST_CASE("batches are the same with a trace, and for a number of workers that a loader finds") {
  const temporary_directory at;
  const auto due = ids_with(0);
  REQUIRE(ids_with(automatic) == due);
  REQUIRE(ids_with(2, std::make_shared<trace>(at / "trace")) == due);
}

TEST_CASE(
    "a loader that looks for its number of workers has one at least, and can be told others") {
  loader job{count(1000).batch(10), {}};
  REQUIRE(job.stats().workers_now == 0); // not begun
  REQUIRE(job.next());
  REQUIRE(job.stats().workers_now >= 1);
  job.resize_workers(3);
  REQUIRE(job.next());
  REQUIRE(job.stats().workers_now == 3);
  job.resize_workers(automatic);
  REQUIRE(job.next());
  REQUIRE(job.stats().workers_now >= 1);
}

TEST_CASE("loaders share a trace, each with tracks of its own") {
  const temporary_directory at;
  const auto file = at / "trace";
  {
    const auto shown = std::make_shared<trace>(file);
    for (std::uint64_t rank : {0, 1}) {
      loader job{count(100).batch(10),
                 {.rank = rank, .world_size = 2, .workers = 1, .trace = shown}};
      drain(job);
    }
  }
  const auto whole = json::parse(read_file(file));
  std::vector<std::string> groups;
  for (const auto& x : whole.at("traceEvents"))
    if (x.at("name") == "process_name")
      groups.push_back(x.at("args").at("name"));
  REQUIRE(groups == std::vector<std::string>{"rank 0 of 2", "rank 1 of 2"});
}

} // namespace
} // namespace leat::test::loader_statistics_test
