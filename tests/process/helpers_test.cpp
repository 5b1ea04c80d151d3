#include "tests/support/cluster_job.hpp"
#include "tests/support/command.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitized.hpp"

// Processes that make rows for a job are killed, stopped and continued at random moments. What the
// job hands over must be what it hands over alone, with the same pixels.
namespace leat::test::helpers_test {
namespace {

using std::chrono::milliseconds;

/// A job that lets helpers in, and the helpers.
class helped_job {
public:
  helped_job(const command_bench& bench, const words& arguments, unsigned seed)
      : bench_(bench), random_(seed),
        job_(words{"/bin/sh", "-c", "exec \"$@\" 2>'" + (bench.at / "errors") + "'", "sh",
                   leat_command, "run", "--workers-at", "127.0.0.1:0", "--json"}
                 + arguments,
             bench.at / "summary"),
        place_(place()) {
    for (std::size_t i = 0; i < 3; ++i)
      helpers_.push_back(helper());
  }

  /// Disturbs the helpers until the job ends; returns its summary.
  json run() {
    while (job_.is_running()) {
      auto& one = helpers_[random_() % helpers_.size()];
      switch (random_() % 4) {
      case 0:
      case 1:
        one = helper();
        break;
      case 2:
        one->signal(SIGSTOP);
        break;
      default:
        for (const auto& x : helpers_)
          x->signal(SIGCONT);
      }
      std::this_thread::sleep_for(milliseconds{random_() % 200});
    }
    CAPTURE(read_file(bench_.at / "errors"));
    REQUIRE(job_.wait() == 0);
    return json_lines(read_file(bench_.at / "summary")).at(0);
  }

private:
  std::string place() const {
    const std::string before = "helpers join at ";
    while (job_.is_running()) {
      const auto text = read_file(bench_.at / "errors");
      const auto at = text.find(before);
      if (const auto end = text.find('\n', at); at != text.npos && end != text.npos)
        return text.substr(at + before.size(), end - at - before.size());
      std::this_thread::sleep_for(milliseconds{1});
    }
    FAIL(read_file(bench_.at / "errors"));
    return {};
  }
  /// Some have the data, and others are sent the records.
  std::unique_ptr<other_program> helper() {
    words command{leat_command, "worker", "--join", place_, "--cores", "1"};
    if (random_() % 2 == 0)
      command = command + words{"--data", bench_.at.path()};
    return std::make_unique<other_program>(
        words{"/bin/sh", "-c", "exec \"$@\" 2>/dev/null", "sh"} + command, bench_.at / "helper");
  }

  const command_bench& bench_;
  std::minstd_rand random_;
  other_program job_;
  const std::string place_;
  std::vector<std::unique_ptr<other_program>> helpers_;
};

TEST_CASE("helpers: whatever becomes of them, the job's log is that of a job alone") {
  const command_bench bench;
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  bench.make_photos(bench.at / "photos", 100, 2);
  const words job{bench.at / "photos/*.tar", "--epochs", sanitized ? "1" : "3", "--workers", "1"};
  (void)bench.ask(words{"run", "--log", bench.at / "alone"} + job);
  helped_job helped{bench, job + words{"--log", bench.at / "helped", "--step-time", "300"}, seed};
  const auto summary = helped.run();
  const auto alone = batches_of(bench.at / "alone");
  const auto made = batches_of(bench.at / "helped");
  REQUIRE(made.size() == alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    REQUIRE(made[i].epoch == alone[i].epoch);
    REQUIRE(made[i].step == alone[i].step);
    REQUIRE(made[i].rows == alone[i].rows);
  }
  REQUIRE(summary["helpers"]["rows_lent"] >= summary["helpers"]["rows_received"]);
}

TEST_CASE("helpers: one that joins the coordinator helps all ranks, also those that come back") {
  constexpr auto pipeline = R"(count(3000).shuffle(seed=5).batch(12, lanes=12))";
  cluster_job job{pipeline, 1, 3, {"--workers-at", ":0", "--step-time", "4"}};
  const auto coordinator = job.coordinator("coordinator");
  const auto helper = [&] {
    return std::make_unique<other_program>(
        words{"/bin/sh", "-c", "LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>/dev/null", "sh",
              leat_command, "worker", "--join", coordinator.address(), "--cores", "1"},
        job.bench.at / "helper");
  };
  auto first = helper(); // before there is a rank
  for (const std::uint64_t rank : {0, 1, 2})
    job.start_process(rank, job.seat(rank, coordinator));
  job.wait_for_batches(0, 20);
  first = nullptr;
  const auto second = helper();
  job.wait_for_batches(0, 40);
  job.rank(1).kill();
  job.start_process(1, job.seat(1, coordinator));
  job.check_end();
  for (const auto* rank : {"0", "1", "2"}) {
    const auto summary = json_lines(read_file(job.output_of(rank))).back();
    CAPTURE(rank, summary);
    CHECK(summary["helpers"]["rows_received"] > 0);
  }
}

TEST_CASE("helpers: options that make no sense are refused, and a worker ends by its signal") {
  const command_bench bench;
  bench.says({"run", "count:100", "--workers-at", "127.0.0.1:0", "--workers", "0"}, 2,
             {"workers_at"});
  bench.says({"run", "count:100", "--workers-at", "nowhere"}, 2, {"nowhere"});
  bench.says({"run", "count:100", "--workers-at", "127.0.0.1:4000", "--world-size", "2"}, 2,
             {"port 0"});
  bench.says({"worker"}, 2, {"--join"});
  bench.says({"worker", "--join", "nowhere"}, 2, {"nowhere"});
  other_program worker{{"/bin/sh", "-c", "exec \"$@\" 2>'" + (bench.at / "errors") + "'", "sh",
                        leat_command, "worker", "--join", "127.0.0.1:1"},
                       bench.at / "out"};
  while (!contains(read_file(bench.at / "errors"), "waits for"))
    std::this_thread::sleep_for(milliseconds{1});
  worker.signal(SIGTERM);
  REQUIRE(worker.wait() == 143);
}

} // namespace
} // namespace leat::test::helpers_test
