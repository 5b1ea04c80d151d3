#include "tests/support/drain.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/functions.hpp>
#include <leat/loader.hpp>
#include <leat/once.hpp>
#include <leat/snapshot.hpp>
#include <leat/sources.hpp>

namespace leat::cluster_loader_test {

// A loader of a cluster whose only rank is this process, with the coordinator. Jobs of several
// processes are in tests/process/cluster_test.cpp.

using namespace std::chrono_literals;

namespace {

pipeline data() {
  return count(240)
      .shuffle({.seed = 3})
      .filter(key_hash(80, 1))
      .batch(8, {.lanes = 8, .end = epoch_end::drop});
}

struct small_cluster {
  loader_options options(std::size_t workers = 2) const {
    return {.workers = workers,
            .epochs = 2,
            .cluster = cluster{.address = "127.0.0.1:0",
                               .state_directory = at / "state",
                               .token = "secret",
                               .beat = 50ms}};
  }
  std::string sets() const { return at / "sets"; }

  test::temporary_directory at;
};

/// Digest of all batches, saved after every fifth.
hash128 train(loader& x, const std::string& sets) {
  while (const auto batch = x.next())
    if (batch->global_step() % 5 == 4)
      x.save(sets, *batch);
  return x.position().digest;
}

hash128 digest_alone() {
  loader x{data(), {.workers = 1, .epochs = 2}};
  drain(x);
  return x.position().digest;
}

} // namespace

TEST_CASE("a cluster of one rank: the same batches, stored sets, and a job that goes on") {
  const small_cluster in;
  const auto due = digest_alone();
  {
    loader x{data(), in.options()};
    CHECK_FALSE(x.restore(in.sets()));
    for (int i = 0; i < 12; ++i) {
      const auto batch = x.next();
      REQUIRE(batch);
      if (i == 7)
        x.save(in.sets(), *batch);
    }
    x.wait_saved();
  }
  CHECK(newest_snapshot(in.sets()).parts.size() == 1);
  loader x{data(), in.options(0)};
  const auto at = x.restore(in.sets());
  REQUIRE(at);
  CHECK(at->global_step == 8);
  CHECK(train(x, in.sets()) == due);
  x.save(in.sets());
  x.finish();
  const auto last = newest_snapshot(in.sets());
  CHECK(inspect_snapshot(last.parts).epoch == 2);
}

TEST_CASE("other threads look at a loader of a cluster, and interrupt it") {
  const small_cluster in;
  loader x{data(), in.options()};
  std::atomic<bool> stop = false;
  std::thread observer{[&] {
    while (!stop)
      (void)x.stats();
  }};
  x.restore(in.sets());
  for (int i = 0; i < 20; ++i)
    CHECK(x.next());
  x.interrupt();
  CHECK(code_of([&] { (void)x.next(); }) == errc::interrupted);
  CHECK(x.position().global_step == 20);
  stop = true;
  observer.join();
}

TEST_CASE("a loader of a cluster that is interrupted before it has a seat gives nothing") {
  for (const bool restores : {false, true}) {
    const small_cluster in;
    loader x{data(), in.options()};
    x.interrupt();
    if (restores) { // with a seat, if it is there at once
      const auto code = code_of([&] { x.restore(in.sets()); });
      CHECK(code.value_or(errc::interrupted) == errc::interrupted);
    }
    CHECK(code_of([&] { x.next(); }) == errc::interrupted);
    CHECK(x.position().global_step == 0);
  }
}

TEST_CASE("a process has one loader of a job at a time") {
  const small_cluster in;
  auto first = std::make_unique<loader>(data(), in.options());
  first->restore(in.sets());
  CHECK(first->next());
  loader second{data(), in.options()};
  check_refusal([&] { second.restore(in.sets()); }, errc::invalid_argument,
                {"a second loader of the job"});
  CHECK(first->next());
  first = nullptr;
  second.restore(in.sets());
  CHECK(second.next());
}

TEST_CASE("a batch of a loader outside the cluster is not saved in it") {
  const small_cluster in;
  loader x{data(), in.options()};
  loader validate{data(), {.workers = 0}};
  x.restore(in.sets());
  const auto mine = x.next();
  const auto seen = validate.next();
  check_refusal([&] { x.save(in.sets(), *seen); }, errc::invalid_argument, {"of another loader"});
  x.save(in.sets(), *mine);
  x.wait_saved();
}

TEST_CASE("the end of a loader of a cluster tells that its last set was not stored") {
  const small_cluster in;
  heard_notices heard;
  {
    loader x{data(), in.options(0)};
    x.restore(in.sets());
    drain(x);
    std::ofstream{in.sets()} << "no directory";
    x.save(in.sets());
  }
  heard.wait("a snapshot was not saved: ");
}

TEST_CASE("a wait for ranks that never come is interrupted, and ends in time") {
  const small_cluster in;
  auto options = in.options();
  options.world_size = 2;
  SECTION("by another thread") {
    loader x{data(), options};
    std::thread other{[&] { x.interrupt(); }};
    CHECK(code_of([&] { x.join(); }) == errc::interrupted);
    other.join();
  }
  SECTION("by the time that it may take") {
    options.cluster->join_within = 300ms;
    loader x{data(), options};
    check_refusal([&] { x.join(); }, errc::cluster, {"no seat within"});
  }
}

TEST_CASE(
    "a coordinator that cannot use its state directory is waited for as long as one that died") {
  const small_cluster in;
  auto options = in.options();
  options.epochs = 1'000'000; // more than a lease lasts
  options.cluster->beat = 10ms;
  options.cluster->coordinator_lost_after = 4s; // a busy machine's may be silent for shorter
  // By a link, which can be replaced at once: a directory that is gone for a moment ends the job.
  const auto state = options.cluster->state_directory;
  std::filesystem::create_directory(state + ".real");
  std::filesystem::create_directory_symlink(state + ".real", state);
  loader x{data(), options};
  x.restore(in.sets());
  CHECK(x.next());
  std::ofstream{state + ".file"} << "no directory";
  std::filesystem::create_symlink(state + ".file", state + ".next");
  std::filesystem::rename(state + ".next", state);
  const auto problem = check_refusal([&] { drain(x); }, errc::cluster);
  CAPTURE(problem.what());
  // Which of the two is seen first depends on when the last word came.
  CHECK((says(problem, "has let no rank go on")
         || says(problem, "no word from the coordinator for 4 s")));
}

TEST_CASE("what would move one rank alone is refused in a cluster") {
  const small_cluster in;
  loader x{data(), in.options()};
  CHECK(code_of([&] { x.seek(0, 3); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.rewind(); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.skip_first_batches(3); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.restore_parts({}); }) == errc::invalid_argument);
  x.restore(in.sets());
  CHECK(code_of([&] { x.save(in.at / "elsewhere"); }) == errc::invalid_argument);
  CHECK(code_of([&] { x.finish(); }) == errc::invalid_argument);
}

TEST_CASE("options of a cluster that cannot be are refused at once") {
  const small_cluster in;
  const auto refused = [&](auto change) {
    auto options = in.options();
    change(options);
    return code_of([&] { const loader x{data(), options}; }) == errc::invalid_argument;
  };
  CHECK(refused([](auto& x) { x.cluster->address = x.cluster->state_directory = ""; }));
  CHECK(refused([](auto& x) { x.cluster->address = "10.1.2.3:4242"; }));
  CHECK(refused([](auto& x) { x.cluster->address = "here"; }));
  CHECK(refused([](auto& x) { x.cluster->beat = 1ms; }));
  CHECK(refused([](auto& x) { x.cluster->most_ranks = 4; }));
  CHECK(refused([](auto& x) {
    x.world_size = 2;
    x.cluster->world_size = 4;
  }));
  CHECK(refused([](auto& x) {
    x.cluster->runs_coordinator = true;
    x.cluster->state_directory = "";
  }));
}

TEST_CASE("a job of a cluster has at most 64 feeds, and says so at once") {
  const small_cluster in;
  const auto data_of = [](int feeds) {
    std::vector<pipeline> all;
    for (int i = 0; i < feeds; ++i)
      all.push_back(feed("feed " + std::to_string(i)));
    return mix(std::move(all)).batch(8);
  };
  check_refusal(
      [&] {
        const loader x{data_of(65), in.options()};
      },
      errc::invalid_argument, {"65 feeds", "at most 64"});
  { const loader x{data_of(64), in.options()}; }
  const loader alone{data_of(65), {.workers = 1, .feeds_at = "127.0.0.1:0"}};
}

} // namespace leat::cluster_loader_test
