#include "tests/support/cluster_job.hpp"
#include "tests/support/command.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/live_pipe.hpp"

// In a job of several processes rank 0's reads a source that exists once, and serves it to all
// ranks. Whatever is killed, they hand over what a single process does that reads it alone.
namespace leat::test::once_ranks_test {
namespace {

using std::chrono::milliseconds;

constexpr auto job_text =
    R"(standard_input().filter("key_hash@1", keep=80).shuffle_buffer(50, seed=3).batch(12, lanes=12, end="mask"))";

std::string lines_of(const std::string& word) {
  std::string text;
  for (int i = 0; i < 4000; ++i)
    text += word + ' ' + std::to_string(i) + '\n';
  return text; // a pipe takes all of it
}

class served_job {
public:
  /// `every`: batches between two snapshots.
  explicit served_job(std::uint64_t world_size, const std::string& every = "10")
      : job(job_text, 1, world_size, {"--snapshot-every", every, "--step-time", "8"}),
        coordinator(job.coordinator("coordinator")), pipe_(lines_of("line"), 1 << 20) {
    std::ofstream{job.bench.at / "lines"} << lines_of("line");
    std::ofstream{job.bench.at / "others"} << lines_of("another");
    job.read_lines(job.bench.at / "lines");
    std::this_thread::sleep_for(milliseconds{2});
    pipe_.pour();
  }

  /// Only the first process of all has the lines; others have some that nobody is to read.
  void start(std::uint64_t rank, const words& more = {}) {
    const auto input = rank == 0 ? pipe_.redirection() : "exec <'" + job.bench.at / "others" + "';";
    job.take(rank, job.launch(std::to_string(rank), job.log_of(rank),
                              job.seat(rank, coordinator) + more, input));
  }
  /// A process of an elastic job: all can read the lines.
  void start_elastic(std::uint64_t number) {
    job.take(number,
             job.launch(std::to_string(number), job.log_of(number),
                        words{"--cluster", coordinator.address(), "--elastic", "1:3"} + journal(),
                        pipe_.redirection()));
  }
  words journal() const { return job.journal_of(0); }
  bool says(std::uint64_t number, const std::string& part) const {
    return contains(read_file(job.errors_of(number)), part);
  }

  cluster_job job;
  coordinator_process coordinator;

private:
  live_pipe pipe_;
};

TEST_CASE(
    "once: rank 0 is killed again and again, with a journal, and the ranks have each record once") {
  served_job x{3};
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::minstd_rand random{seed};
  x.start(1);
  x.start(2);
  x.start(0, x.journal());
  for (int kills = 0; kills < 5 && x.job.rank(0).is_running(); ++kills) {
    x.job.wait_for_batches(0, static_cast<std::size_t>(kills) * 25 + 1);
    std::this_thread::sleep_for(milliseconds{random() % 100});
    x.job.rank(0).kill();
    if (kills == 2) { // all of them
      x.job.rank(1).kill();
      x.start(1);
    }
    x.start(0, x.journal());
  }
  x.job.check_end();
  x.job.check_sets({"1", "4"});
}

TEST_CASE("once: another rank is killed, and all go back to records that rank 0 has kept") {
  served_job x{2};
  x.start(1);
  x.start(0, x.journal());
  x.job.wait_for_batches(1, 30);
  x.job.rank(1).kill();
  x.start(1);
  x.job.check_end();
}

TEST_CASE("once: without a journal going back needs records that are gone, which is an error") {
  served_job x{2, "1000000"};
  x.start(1);
  x.start(0);
  x.job.wait_for_batches(1, 200); // within a second ranks say what they need no more
  x.job.rank(1).kill();
  x.start(1);
  for (const std::uint64_t rank : {0, 1})
    x.job.check_rank(rank, 1, {"earlier ones were released"});
}

TEST_CASE("once: rank 0 comes back without its journal, which is an error on every rank") {
  const bool had_journal = GENERATE(true, false);
  CAPTURE(had_journal);
  served_job x{2, "1000000"};
  x.start(1);
  x.start(0, had_journal ? x.journal() : words{});
  x.job.wait_for_batches(0, 5);
  x.job.rank(0).kill();
  x.start(0, had_journal ? words{"--journal", x.job.bench.at / "elsewhere"} : words{});
  for (const std::uint64_t rank : {0, 1}) {
    const auto status = x.job.rank(rank).wait();
    CAPTURE(rank, read_file(x.job.errors_of(rank)));
    CHECK(status != 0);
    CHECK(x.says(rank, "records are lost"));
  }
}

TEST_CASE("once: an elastic job continues with the journal when the process with rank 0 is lost") {
  served_job x{0};
  for (const std::uint64_t number : {0, 1, 2})
    x.start_elastic(number);
  x.coordinator.wait_for_log("3 ranks");
  x.job.wait_for_batches(0, 12);
  for (const std::uint64_t number : {0, 1, 2})
    if (x.says(number, "rank 0 of 3 begins"))
      x.job.lose(number);
  x.job.check_digests();
  x.job.check_sets({"1", "3"});
}

} // namespace
} // namespace leat::test::once_ranks_test
