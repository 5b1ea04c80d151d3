#include "tests/support/cluster_job.hpp"
#include "tests/support/command.hpp"
#include "tests/support/coordinator_process.hpp"

#include <sys/stat.h>

// A source that exists once is read by a process of its own, and its records go to ranks in other
// processes. Whatever is killed, they hand over what a single process does that reads it alone.
namespace leat::test::feed_test {
namespace {

using std::chrono::milliseconds;

/// After the source: the same in the job and in a process alone. The name makes ids the same, too.
constexpr auto rest_of_pipeline =
    R"(.filter("key_hash@1", keep=80).shuffle_buffer(50, seed=3).batch(12, lanes=12, end="mask"))";

class fed_job {
public:
  /// `every`: batches between two snapshots.
  explicit fed_job(const std::string& every = "10")
      : job(std::string{R"(feed("stdin"))"} + rest_of_pipeline, 1, 2,
            {"--snapshot-every", every, "--step-time", "8"}),
        coordinator(job.coordinator("coordinator")) {
    std::ofstream lines{job.bench.at / "lines"};
    for (int i = 0; i < 4000; ++i)
      lines << "line " << i << '\n';
    std::ofstream{job.bench.at / "alone.leat"} << "standard_input()" << rest_of_pipeline << '\n';
  }

  std::unique_ptr<other_program> feed(const std::string& name, const words& more = {}) const {
    return std::make_unique<other_program>(
        words{"/bin/sh", "-c",
              "LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'" + job.errors_of(name) + "'", "sh",
              leat_command, "feed", "stdin", job.bench.at / "lines", "--join",
              coordinator.address()}
            + more,
        job.output_of(name));
  }
  /// Reads the lines that are written to a FIFO.
  std::unique_ptr<other_program> feed_of(const std::string& fifo, const std::string& name) const {
    return std::make_unique<other_program>(words{"/bin/sh", "-c",
                                                 "LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'"
                                                     + job.errors_of(name) + "' <'" + fifo + "'",
                                                 "sh", leat_command, "feed", "stdin", "--join",
                                                 coordinator.address()}
                                               + journal("journal"),
                                           job.output_of(name));
  }
  words journal(const std::string& name) const { return {"--journal", job.bench.at / name}; }
  void start(std::uint64_t rank) { job.start_process(rank, job.seat(rank, coordinator)); }
  void wait_for_text(const std::string& name, const std::string& part) const {
    while (!contains(read_file(job.errors_of(name)), part))
      std::this_thread::sleep_for(milliseconds{2});
  }

  /// Waits for the ranks, and checks that they have handed over what one process does.
  void check_end() {
    std::vector<std::string> digests;
    for (const std::uint64_t rank : {0, 1}) {
      job.check_rank(rank, 0);
      digests.push_back(job.digest_of(std::to_string(rank)).value_or(""));
    }
    job.bench.input = job.bench.at / "lines";
    const auto alone = job.bench.ask(
        {"run", "--pipeline", job.bench.at / "alone.leat", "--epochs", "1", "--workers", "1"});
    CHECK(sum_of(digests) == alone.at("digest"));
  }

  cluster_job job;
  coordinator_process coordinator;
};

TEST_CASE(
    "feed: with a journal it is killed again and again, and the ranks have each record once") {
  fed_job x;
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::minstd_rand random{seed};
  auto feed = x.feed("feed", x.journal("journal")); // before there is a rank
  for (const std::uint64_t rank : {0, 1})
    x.start(rank);
  for (int kills = 0; kills < 6 && x.job.rank(0).is_running(); ++kills) {
    x.job.wait_for_batches(0, static_cast<std::size_t>(kills) * 25 + 1);
    std::this_thread::sleep_for(milliseconds{random() % 100});
    feed->kill();
    if (kills == 3) { // all go back to a set, and ask for its records again
      x.job.rank(1).kill();
      x.start(1);
    }
    feed = x.feed("feed", x.journal("journal"));
  }
  x.check_end();
  CHECK(feed->wait() == 0); // the source has ended, and the ranks are done
}

TEST_CASE("feed: a signal for its producer, too, is not the end of its source") {
  fed_job x;
  const std::string fifo = x.job.bench.at / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const auto lines = read_file(x.job.bench.at / "lines");
  const auto half = lines.size() / 2 + 3; // in the middle of a line
  for (const std::uint64_t rank : {0, 1})
    x.start(rank);
  auto feed = x.feed_of(fifo, "feed");
  {
    std::ofstream producer{fifo};
    producer << lines.substr(0, half) << std::flush;
    x.job.wait_for_batches(0, 5);
    std::this_thread::sleep_for(milliseconds{100});
  }
  feed->signal(SIGTERM);
  CHECK(feed->wait() == 128 + SIGTERM);
  feed = x.feed_of(fifo, "feed");
  std::ofstream{fifo} << lines.substr(half);
  x.check_end();
  CHECK(feed->wait() == 0);
}

TEST_CASE("feed: without a journal its death is an error on every rank that says so") {
  fed_job x{"1000000"}; // snapshots need a journal
  auto feed = x.feed("feed");
  for (const std::uint64_t rank : {0, 1})
    x.start(rank);
  x.job.wait_for_batches(0, 5);
  feed->kill();
  feed = x.feed("new"); // the coordinator's decision stays
  x.wait_for_text("new", "its records are lost, and the job has to begin anew");
  for (const std::uint64_t rank : {0, 1}) {
    CHECK(x.job.rank(rank).wait() != 0);
    CHECK(contains(read_file(x.job.errors_of(rank)), "no journal"));
  }
}

TEST_CASE("feed: a second process that serves the name is refused, and the job ends as it should") {
  fed_job x;
  const auto feed = x.feed("feed", x.journal("journal"));
  for (const std::uint64_t rank : {0, 1})
    x.start(rank);
  x.job.wait_for_batches(0, 5);
  const auto second = x.feed("second", x.journal("other"));
  x.wait_for_text("second", "another process serves feed");
  x.check_end();
  CHECK(feed->wait() == 0);
}

TEST_CASE("feed: a copy of the journal is refused while the other one is served") {
  fed_job x;
  const auto feed = x.feed("feed", x.journal("journal"));
  for (const std::uint64_t rank : {0, 1})
    x.start(rank);
  x.job.wait_for_batches(0, 5);
  std::filesystem::copy(x.job.bench.at / "journal", x.job.bench.at / "copy",
                        std::filesystem::copy_options::recursive);
  const auto second = x.feed("second", x.journal("copy"));
  x.wait_for_text("second", "a copy of it");
  CHECK_FALSE(contains(read_file(x.job.errors_of("second")), "serves rank"));
  x.check_end();
  CHECK(feed->wait() == 0);
}

TEST_CASE("feed: the job's status and the ranks' summaries say who serves them, and how far") {
  fed_job x;
  const auto feed = x.feed("feed", x.journal("journal"));
  for (const std::uint64_t rank : {0, 1})
    x.start(rank);
  json seen;
  while (seen.is_null() && x.job.rank(0).is_running()) {
    const auto found =
        x.job.bench.leat({"cluster", "status", "--join", x.coordinator.address(), "--json"},
                         "LEAT_CLUSTER_TOKEN=secret");
    REQUIRE(found.code == 0);
    const auto status = json::parse(found.output);
    for (const auto& one : status.at("feeds"))
      if (one.at("served") == 2)
        seen = one;
  }
  REQUIRE(seen.is_object()); // the job takes seconds, and ranks state this ten times in each
  CHECK(seen.at("name") == "stdin");
  CHECK(seen.at("hosts") == json::array({"127.0.0.1"}));
  CHECK(seen.at("journal") == true);
  CHECK(seen.at("ranks") == 2);
  x.check_end();
  for (const std::uint64_t rank : {0, 1}) {
    const auto summary = json_lines(read_file(x.job.output_of(std::to_string(rank)))).at(0);
    REQUIRE(summary.at("feeds").size() == 1);
    const auto& had = summary.at("feeds").at(0);
    CAPTURE(had);
    CHECK(had.at("name") == "stdin");
    CHECK(had.at("ended") == true);
    CHECK(had.at("records_read") == 4000);
    CHECK(had.at("lag") == 0);
    CHECK(had.at("records_received") >= 1900);
    CHECK(had.at("wire_bytes") > had.at("bytes_received"));
  }
  CHECK(feed->wait() == 0);
  CHECK(contains(read_file(x.job.errors_of("feed")), "bytes to ranks; processors took "));
}

TEST_CASE("feed: options that make no sense are refused, and it ends by its signal") {
  const command_bench bench;
  bench.says({"feed", "queue"}, 2, {"--join"});
  bench.says({"feed", "queue", "--join", "nowhere"}, 2, {"feed.join"});
  bench.says({"feed", "queue", "--join", "127.0.0.1:1", "--memory", "1"}, 2, {"--memory"});
  other_program idle{{"/bin/sh", "-c", "exec \"$@\" 2>'" + (bench.at / "errors") + "'", "sh",
                      leat_command, "feed", "queue", "--join", "127.0.0.1:1"},
                     bench.at / "idle"};
  while (!contains(read_file(bench.at / "errors"), "waits for"))
    std::this_thread::sleep_for(milliseconds{1});
  idle.signal(SIGTERM);
  CHECK(idle.wait() == 128 + SIGTERM);
}

} // namespace
} // namespace leat::test::feed_test
