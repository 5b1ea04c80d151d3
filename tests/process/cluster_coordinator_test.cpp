#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"

#include <signal.h>

// What the processes of a job may find: earlier and later coordinators, their state directories,
// and processes of other jobs.
namespace leat::test::cluster_coordinator_test {
namespace {

using std::chrono::milliseconds;

constexpr auto indexed = R"(count(1200).shuffle(seed=5).batch(12, lanes=12))";

TEST_CASE("a first start with a wrong world size does not bind the job") {
  cluster_job job{indexed, 1, 2, {"--step-time", "1"}};
  const auto coordinator = job.coordinator("coordinator");
  job.start_process(0, job.at(coordinator) + words_of("--rank 0 --world-size 3"));
  std::this_thread::sleep_for(milliseconds{1000}); // until it has sent its hello
  job.rank(0).signal(SIGINT);
  job.check_rank(0, 130);
  for (const std::uint64_t rank : {0, 1})
    job.start_process(rank, job.seat(rank, coordinator));
  job.check_end();
}

TEST_CASE("ranks that know one coordinator find the one that has replaced it") {
  cluster_job job{indexed, 1, 2, {"--step-time", "60", "--snapshot-every", "30"}};
  auto first = job.coordinator("first");
  for (const std::uint64_t rank : {0, 1})
    job.start_process(rank, job.seat(rank, first));
  job.wait_for_batches(1, 3);
  const auto second = job.coordinator("second");
  CHECK(first.end() == 1);
  CHECK(contains(first.errors(), second.address()));
  job.check_end();
  CHECK(contains(second.errors(), "the job is over"));
}

TEST_CASE("a state directory that is removed ends the job at once, and it begins again") {
  const bool is_apart = GENERATE(true, false);
  cluster_job job{indexed, 2, 2, {"--step-time", "30", "--snapshot-every", "10"}};
  std::optional<coordinator_process> coordinator;
  const auto start = [&](const std::string& name) {
    if (is_apart)
      coordinator.emplace(job.coordinator(name));
    for (const std::uint64_t rank : {0, 1})
      job.start_process(rank, is_apart ? job.seat(rank, *coordinator) : job.with_coordinator(rank));
  };
  start("coordinator");
  job.wait_for_batches(1, 15);
  const auto begin = std::chrono::steady_clock::now();
  std::filesystem::remove_all(std::filesystem::path{job.bench.at / "state"});
  for (const std::uint64_t rank : {0, 1})
    job.check_rank(rank, 1, {"the state directory was removed"});
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
  if (is_apart) {
    CHECK(coordinator->end() == 1);
    CHECK(contains(coordinator->errors(), "a state directory that was removed"));
  }
  start("again");
  job.check_digests();
}

TEST_CASE("a process of an elastic job that has lost its place ends well when the job is over") {
  // Short: a coordinator waits 10 s from the last word of a process for its next one.
  cluster_job job{indexed, 1, 0, {"--step-time", "5", "--snapshot-every", "20"}};
  const auto coordinator = job.coordinator("coordinator");
  const words wish = job.at(coordinator) + words{"--elastic", "1:2"};
  for (const std::uint64_t number : {0, 1})
    job.start_process(number, wish);
  job.wait_for_batches(0, 5);
  job.rank(1).signal(SIGSTOP);
  coordinator.wait_for_log("1 rank from");
  coordinator.wait_for_log("the job is over");
  job.rank(1).signal(SIGCONT);
  for (const std::uint64_t number : {0, 1})
    job.check_rank(number, 0);
}

TEST_CASE("a beat that is longer than ranks may be silent is refused") {
  cluster_job job{indexed, 1, 1, {}};
  const auto coordinator = job.coordinator("coordinator");
  job.start_process(0, words{"--cluster", coordinator.address(), "--beat", "4000"} + job.seat(0));
  job.check_rank(0, 1, {"a beat of 4 s"});
}

TEST_CASE("ranks of another job at the same address end no coordinator") {
  cluster_job former{indexed, 1, 1, {"--step-time", "100"}};
  cluster_job job{indexed, 1, 1, {"--step-time", "2"}};
  std::optional first{former.coordinator("first")};
  const auto address = first->address();
  for (int i = 0; i < 2; ++i) { // so that its life is above those of the other job
    first->kill();
    first.emplace(former.coordinator("first", {"--bind", address}));
    CHECK(first->address() == address);
  }
  former.start_process(0, former.seat(0, *first));
  former.wait_for_batches(0, 2);
  first->kill();
  const auto second = job.coordinator("second", {"--bind", address});
  CHECK(second.address() == address);
  former.check_rank(0, 1, {"another job's"});
  job.start_process(0, job.seat(0, second));
  job.check_end();
}

} // namespace
} // namespace leat::test::cluster_coordinator_test
