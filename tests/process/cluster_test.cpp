#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"

#include <signal.h>

// Jobs of several processes: what the ranks have handed over in the end is what one process hands
// over. Judged by their logs and digests. cluster_faults_test kills and stops them at random.
namespace leat::test::cluster_test {
namespace {

using std::chrono::milliseconds;

constexpr auto by_key =
    R"(count(1500).filter("key_hash@1", keep=80).shuffle_buffer(48, seed=1).batch(12, lanes=12, end="mask"))";
constexpr auto by_content =
    R"(count(900).shuffle(seed=3).filter("field_hash@1", field="value", keep=60).batch(12, lanes=12, end="drop"))";
constexpr auto indexed = R"(count(1200).shuffle(seed=5).batch(12, lanes=12))";

TEST_CASE("ranks in processes of their own hand over what one process does, and store its sets") {
  const auto* pipeline = GENERATE(by_key, by_content, indexed);
  CAPTURE(pipeline);
  cluster_job job{pipeline,
                  2,
                  GENERATE(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{6}),
                  {"--snapshot-every", "23", "--step-time", "1"}};
  job.start_all();
  job.check_end();
  job.check_sets();
}

TEST_CASE(
    "a rank that gets its place back from another process of its log hands over nothing twice") {
  cluster_job job{GENERATE(by_key, indexed),
                  3,
                  2,
                  {"--snapshot-every", "20", "--step-time", "5", "--on-rank-loss", "alone",
                   "--run-ahead", "200"}};
  job.start_all();
  job.wait_for_batches(1, 10);
  auto& first = job.rank(1);
  first.signal(SIGSTOP);
  auto second = job.launch("second", job.log_of(1), job.with_coordinator(1));
  const auto before = job.batches_of(1);
  while (job.batches_of(1) < before + 10 && second->is_running())
    std::this_thread::sleep_for(milliseconds{2});
  first.signal(SIGCONT); // it learns that it was lost, and waits
  const bool dies_at_once = GENERATE(true, false);
  if (!dies_at_once)
    std::this_thread::sleep_for(milliseconds{300});
  second->kill();
  job.check_end();
  CHECK(contains(read_file(job.errors_of(1)), "came back"));
  job.check_sets();
}

TEST_CASE("a rank that is started when the job has ended and its coordinator gone learns that") {
  cluster_job job{indexed, 1, 2, {"--step-time", "1"}};
  job.start_all();
  job.check_end();
  const auto before = json_lines(read_file(job.output_of("1"))).at(0);
  job.start(1);
  job.check_rank(1, 0, {"this job is over"});
  // It is at the newest set, where the job has ended, and its log is unchanged.
  const auto after = json_lines(read_file(job.output_of("1"))).at(0);
  for (const auto* member : {"epoch", "step", "global_step"})
    CHECK(after.at(member) == before.at(member));
  CHECK(after.at("samples") == 0);
  job.check_logs();
  // Another job must not take that for its own end.
  job.start(1, {"--steps", "7", "--join-within", "1"});
  job.check_rank(1, 1, {"no seat within 1 s"});
}

TEST_CASE("a rank that is stopped for long before all have come has its place when it goes on") {
  cluster_job job{indexed, 1, 2, {"--step-time", "1"}};
  const auto coordinator = job.coordinator("coordinator");
  job.start_process(0, job.seat(0, coordinator));
  std::this_thread::sleep_for(milliseconds{1000}); // until it has sent its hello
  job.rank(0).signal(SIGSTOP);
  std::this_thread::sleep_for(milliseconds{11'500}); // more than two leases: it is forgotten
  job.rank(0).signal(SIGCONT);
  job.start_process(1, job.seat(1, coordinator));
  job.check_end();
}

TEST_CASE("an elastic job shrinks when a rank is lost, and grows after a stored set") {
  cluster_job job{by_key, 4, 0, {"--snapshot-every", "20", "--step-time", "40"}};
  const auto coordinator = job.coordinator("coordinator");
  const words wish{"--cluster", coordinator.address(), "--elastic", "2:8"};
  for (const std::uint64_t number : {0, 1, 2, 3})
    job.start_process(number, wish);
  coordinator.wait_for_log("4 ranks");
  job.wait_for_batches(0, 10);
  job.lose(2);
  coordinator.wait_for_log("3 ranks");
  for (const std::uint64_t number : {4, 5, 6})
    job.start_process(number, wish);
  coordinator.wait_for_log("6 ranks");
  job.check_digests();
  job.check_sets();
}

TEST_CASE("a rank that is started twice is told who has its place, and the first one goes on") {
  const auto rank = GENERATE(std::uint64_t{0}, std::uint64_t{1}); // 0 has the coordinator
  cluster_job job{indexed, 1, 2, {"--step-time", "60", "--snapshot-every", "30"}};
  job.start_all();
  job.wait_for_batches(1, 3);
  const auto twin = job.launch("twin", job.log_of(rank),
                               job.with_coordinator(rank) + words{"--join-within", "2"});
  CHECK(twin->wait() == 1);
  const auto errors = read_file(job.errors_of("twin"));
  CAPTURE(errors);
  CHECK(contains(errors, "no seat within 2 s"));
  CHECK(contains(errors, "rank " + std::to_string(rank)));
  job.check_end();
}

TEST_CASE("a process with another token gets no seat, and one alone says who is missing") {
  cluster_job job{indexed, 1, 2, {}};
  job.start(0, {"--join-within", "3"});
  job.bench.says(
      words{"run", "--pipeline", job.bench.at / "job.leat", "--epochs", "1"}
          + job.with_coordinator(1) + words{"--join-within", "2"},
      1, {"no seat within 2 s: somebody listens there who has not answered", "another token"},
      "LEAT_CLUSTER_TOKEN=guess");
  job.check_rank(0, 1, {"no seat within 3 s", "1"});
}

} // namespace
} // namespace leat::test::cluster_test
