#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"

// Clusters on a machine that refuses threads: from the n-th on, or only the n-th. Each process does
// its work, or reports within the time to join what it lacks.
namespace leat::test::cluster_threads_test {
namespace {

constexpr auto indexed = R"(count(240).shuffle(seed=5).batch(12, lanes=12))";
/// More than any of the processes starts.
constexpr int most_threads = 40;

/// A command that runs another one, which may have so many threads. `fail`: how many fail after
/// them; 0: all.
words with_threads(int n, int fail, const std::string& count) {
  return words_of("env LEAT_FAIL_CALL=pthread_create LEAT_FAIL_ERRNO=EAGAIN LEAT_FAIL_DEADLINE=30")
         + words{std::string{"LD_PRELOAD="} + failing_calls, "LEAT_FAIL_COUNT=" + count}
         + words{"LEAT_FAIL_AT=" + std::to_string(n + 1),
                 "LEAT_FAIL_TIMES=" + std::to_string(fail)};
}

/// Whether a process that `with_threads` ran had enough threads, as recorded at its end.
bool was_enough(const std::string& count) {
  const auto text = read_file(count);
  REQUIRE(text.ends_with("\n"));
  return text.ends_with(" 0\n");
}

void check_error(const std::string& errors) {
  CHECK(contains(errors, "no more threads ("));
  CHECK(contains(errors, "ulimit -u"));
}

/// Runs a rank with more and more threads, until it needs no more.
template <class Options>
void check_rank(Options options_in) {
  std::string whole;
  for (const int fail : {0, 1})
    for (int n = 0;; ++n) {
      CAPTURE(fail, n);
      REQUIRE(n < most_threads);
      cluster_job job{indexed, 1, 1, {"--join-within", "10"}};
      const auto count = job.bench.at / "count";
      const auto code = job.launch("0", job.log_of(0), options_in(job) + job.seat(0), "",
                                   with_threads(n, fail, count))
                            ->wait();
      const auto errors = read_file(job.errors_of(0));
      CAPTURE(code, errors);
      REQUIRE((code == 0 || code == 1));
      if (code == 1)
        check_error(errors);
      if (whole.empty())
        whole = job.whole_digest();
      if (code == 0)
        CHECK(job.digest_of("0") == whole);
      if (was_enough(count)) {
        CHECK(code == 0);
        break;
      }
    }
}

TEST_CASE("cluster threads: a coordinator") {
  for (const int fail : {0, 1})
    for (int n = 0;; ++n) {
      CAPTURE(fail, n);
      REQUIRE(n < most_threads);
      const command_bench bench;
      const auto count = bench.at / "count";
      coordinator_process uut{
          bench, "coordinator", {"--state", bench.at / "state"}, with_threads(n, fail, count)};
      if (uut.listens())
        break;
      const auto code = uut.end();
      const auto errors = uut.errors();
      CAPTURE(errors);
      CHECK(code == 1);
      check_error(errors);
      REQUIRE_FALSE(was_enough(count));
    }
}

TEST_CASE("cluster threads: a rank with the coordinator") {
  check_rank([](const cluster_job& job) {
    return words{"--cluster", "127.0.0.1:0", "--state", job.bench.at / "state", "--beat", "100"};
  });
}

TEST_CASE("cluster threads: a rank that connects to the coordinator") {
  std::optional<coordinator_process> coordinator;
  check_rank([&](const cluster_job& job) {
    coordinator.emplace(job.bench, "coordinator", words{"--state", job.bench.at / "state"});
    return words{"--cluster", coordinator->address(), "--beat", "100"};
  });
}

} // namespace
} // namespace leat::test::cluster_threads_test
