#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

// What the processes of a job may find: earlier and later coordinators, their state directories,
// and processes of other jobs.

namespace leat::test::cluster_coordinator_test {
namespace {

using std::chrono::milliseconds;

constexpr auto indexed = R"(count(1200).shuffle(seed=5).batch(12, lanes=12))";

words short_times() {
  return {"--lost-after", "3", "--lease", "5", "--last-call", "1"};
}

/// Options of a rank that knows only the coordinator's address.
words at(const coordinator_process& coordinator) {
  return {"--cluster", coordinator.address(), "--beat", "100"};
}

TEST_CASE("a first start with a wrong world size does not bind the job") {
  cluster_job job{indexed, 1, 2, {"--step-time", "1"}};
  const coordinator_process coordinator{job.bench, "coordinator",
                                        words{"--state", job.bench.at / "state"} + short_times()};
  job.start_process(0, at(coordinator) + words{"--rank", "0", "--world-size", "3"});
  std::this_thread::sleep_for(milliseconds{1000}); // until it has sent its hello
  job.rank(0).signal(SIGINT);
  CHECK(job.rank(0).wait() == 130);
  for (const std::uint64_t rank : {0, 1})
    job.start_process(rank, at(coordinator) + job.seat(rank));
  job.check_end();
}

TEST_CASE("ranks that know one coordinator find the one that has replaced it") {
  cluster_job job{indexed, 1, 2, {"--step-time", "60", "--snapshot-every", "30"}};
  const auto state = words{"--state", job.bench.at / "state"} + short_times();
  coordinator_process first{job.bench, "first", state};
  for (const std::uint64_t rank : {0, 1})
    job.start_process(rank, at(first) + job.seat(rank));
  job.wait_for_batches(1, 3);
  const coordinator_process second{job.bench, "second", state};
  CHECK(first.end() == 1);
  CHECK(contains(first.errors(), second.address()));
  job.check_end();
  CHECK(contains(second.errors(), "the job is over"));
}

TEST_CASE("a state directory that is removed ends the job at once, and it begins again") {
  const bool is_apart = GENERATE(true, false);
  cluster_job job{indexed, 2, 2, {"--step-time", "30", "--snapshot-every", "10"}};
  const auto options = words{"--state", job.bench.at / "state"} + short_times();
  std::optional<coordinator_process> coordinator;
  if (is_apart)
    coordinator.emplace(job.bench, "coordinator", options);
  const auto start = [&](std::uint64_t rank) {
    if (is_apart)
      job.start_process(rank, at(*coordinator) + job.seat(rank));
    else
      job.start(rank);
  };
  for (const std::uint64_t rank : {0, 1})
    start(rank);
  job.wait_for_batches(1, 15);
  const auto begin = std::chrono::steady_clock::now();
  std::filesystem::remove_all(std::filesystem::path{job.bench.at / "state"});
  for (const std::uint64_t rank : {0, 1}) {
    CHECK(job.rank(rank).wait() == 1);
    const auto errors = read_file(job.errors_of(rank));
    CAPTURE(errors);
    CHECK(contains(errors, "the state directory was removed"));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{20});
  if (is_apart) {
    CHECK(coordinator->end() == 1);
    CHECK(contains(coordinator->errors(), "a state directory that was removed"));
    coordinator.emplace(job.bench, "again", options);
  }
  for (const std::uint64_t rank : {0, 1})
    start(rank);
  job.check_digests();
}

TEST_CASE("a process of an elastic job that has lost its place ends well when the job is over") {
  cluster_job job{indexed, 1, 0, {"--step-time", "20", "--snapshot-every", "20"}};
  const coordinator_process coordinator{job.bench, "coordinator",
                                        words{"--state", job.bench.at / "state"} + short_times()};
  const words wish = at(coordinator) + words{"--elastic", "1:2"};
  for (const std::uint64_t number : {0, 1})
    job.start_process(number, wish);
  job.wait_for_batches(0, 5);
  job.rank(1).signal(SIGSTOP);
  coordinator.wait_for_log("1 rank from");
  coordinator.wait_for_log("the job is over");
  job.rank(1).signal(SIGCONT);
  for (const std::uint64_t number : {0, 1}) {
    CAPTURE(number);
    const auto code = job.rank(number).wait();
    const auto errors = read_file(job.errors_of(number));
    CAPTURE(errors);
    CHECK(code == 0);
  }
}

TEST_CASE("a beat that is longer than ranks may be silent is refused") {
  cluster_job job{indexed, 1, 1, {}};
  const coordinator_process coordinator{job.bench, "coordinator",
                                        words{"--state", job.bench.at / "state"} + short_times()};
  job.start_process(0, words{"--cluster", coordinator.address(), "--beat", "4000"} + job.seat(0));
  CHECK(job.rank(0).wait() == 1);
  const auto errors = read_file(job.errors_of(0));
  CAPTURE(errors);
  CHECK(contains(errors, "a beat of 4 s"));
}

TEST_CASE("ranks of another job at the same address end no coordinator") {
  cluster_job former{indexed, 1, 1, {"--step-time", "100"}};
  cluster_job job{indexed, 1, 1, {"--step-time", "2"}};
  const auto state = words{"--state", former.bench.at / "state"} + short_times();
  std::optional<coordinator_process> first{std::in_place, former.bench, "first", state};
  const auto address = first->address();
  for (int i = 0; i < 2; ++i) { // so that its life is above those of the other job
    first->kill();
    first.emplace(former.bench, "first", state + words{"--bind", address});
    CHECK(first->address() == address);
  }
  former.start_process(0, words{"--cluster", address, "--beat", "100"} + former.seat(0));
  former.wait_for_batches(0, 2);
  first->kill();
  const coordinator_process second{job.bench, "second",
                                   words{"--state", job.bench.at / "state", "--bind", address}
                                       + short_times()};
  CHECK(second.address() == address);
  CHECK(former.rank(0).wait() == 1);
  CHECK(contains(read_file(former.errors_of(0)), "another job's"));
  job.start_process(0, at(second) + job.seat(0));
  job.check_end();
}

} // namespace
} // namespace leat::test::cluster_coordinator_test
