#include "tests/support/command.hpp"
#include "tests/support/coordinator_process.hpp"

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <thread>

// Jobs of several processes, of which some are killed, stopped and started again: what the ranks
// have handed over in the end is what one process hands over. Judged by their logs and digests.

namespace leat::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string sum_of(const std::vector<std::string>& digests) {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  for (const auto& x : digests) {
    const auto more = std::stoull(x.substr(16), nullptr, 16);
    low += more;
    high += std::stoull(x.substr(0, 16), nullptr, 16) + (low < more ? 1 : 0);
  }
  std::array<char, 33> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx",
                static_cast<unsigned long long>(high), static_cast<unsigned long long>(low));
  return digits.data();
}

/// The ranks of one job, each in a process of its own.
class cluster_job {
public:
  cluster_job(const std::string& pipeline, std::uint64_t epochs, std::uint64_t world_size,
              words options)
      : world_size_(world_size), epochs_(epochs), options_(std::move(options)) {
    std::ofstream{bench.at / "job.leat"} << pipeline << '\n';
  }

  void start(std::uint64_t rank, const words& more = {}) {
    const auto name = std::to_string(rank);
    start_process(rank, words{"--cluster", "127.0.0.1:0", "--state", bench.at / "state", "--rank",
                              name, "--world-size", std::to_string(world_size_), "--beat", "100"}
                            + more);
  }
  /// A process with this number and these options.
  void start_process(std::uint64_t number, const words& more) {
    const auto errors = errors_of(number);
    ranks_.insert_or_assign(
        number,
        std::make_unique<child_process>(
            words{"/bin/sh", "-c", "LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'" + errors + "'",
                  "sh", LEAT_COMMAND, "run", "--pipeline", bench.at / "job.leat", "--epochs",
                  std::to_string(epochs_), "--snapshot-dir", bench.at / "sets", "--log",
                  bench.at / ("log." + std::to_string(number)), "--workers", "1", "--json"}
                + options_ + more,
            output_of(number)));
  }
  /// It does not come back.
  void lose(std::uint64_t rank) {
    ranks_.at(rank)->kill();
    ranks_.erase(rank);
  }
  void start_all() {
    for (std::uint64_t rank = 0; rank < world_size_; ++rank)
      start(rank);
  }
  child_process& rank(std::uint64_t number) { return *ranks_.at(number); }
  std::uint64_t world_size() const { return world_size_; }

  std::string errors_of(std::uint64_t rank) const {
    return bench.at / ("errors." + std::to_string(rank));
  }
  std::string output_of(std::uint64_t rank) const {
    return bench.at / ("output." + std::to_string(rank));
  }
  /// Lines in a rank's log, which has one for each batch.
  std::size_t batches_of(std::uint64_t rank) const {
    return count_of(read_file(bench.at / ("log." + std::to_string(rank))), "\n");
  }
  void wait_for_batches(std::uint64_t number, std::size_t batches) {
    while (batches_of(number) < batches && rank(number).is_running())
      std::this_thread::sleep_for(milliseconds{2});
  }
  bool is_running() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const auto& x) { return x.second->is_running(); });
  }

  /// Waits for all, and checks that they ended well and handed over what one process does.
  void check_end() {
    check_digests();
    check_logs();
  }
  void check_digests() {
    std::vector<std::string> digests;
    bool came_too_late = false;
    for (auto& [number, process] : ranks_) {
      CAPTURE(number);
      const auto code = process->wait();
      const auto errors = read_file(errors_of(number));
      CAPTURE(errors);
      REQUIRE(code == 0);
      // Killed when all had ended, before it could say what it has: its log says it.
      came_too_late = came_too_late || contains(errors, "this job is over");
      digests.push_back(json_lines(read_file(output_of(number))).at(0).at("digest"));
    }
    const words job{"--pipeline", bench.at / "job.leat"};
    if (came_too_late)
      return;
    const auto whole = bench.ask(words{"run"} + job + words{"--epochs", std::to_string(epochs_)});
    CHECK(whole.at("digest") == sum_of(digests));
  }

  /// Each rank's batches, one after the other without a gap; what was handed over before the ranks
  /// went back does not count.
  void check_logs() {
    const words job{"--pipeline", bench.at / "job.leat"};
    const auto order = bench.order(job, epochs_, bench.at / "order");
    std::vector<logged_batch> all;
    for (std::uint64_t number = 0; number < world_size_; ++number) {
      std::map<step_key, logged_batch> mine;
      for (const auto& attempt : attempts_of(bench.at / ("log." + std::to_string(number)))) {
        if (attempt.batches.empty())
          continue;
        const auto from = attempt.header.value("resumed_at", json());
        const step_key begin =
            from.is_null() ? step_key{0, 0} : step_key{from.at("epoch"), from.at("step")};
        // Alone: nothing is handed over twice.
        mine.erase(mine.lower_bound(begin), mine.end());
        auto due = order.find(begin);
        for (const auto& batch : attempt.batches) {
          CAPTURE(number, batch.epoch, batch.step);
          REQUIRE(due != order.end());
          REQUIRE(step_key{batch.epoch, batch.step} == due->first);
          mine.insert_or_assign(due->first, batch);
          ++due;
        }
      }
      REQUIRE(mine.size() == order.size());
      for (const auto& [key, batch] : mine)
        all.push_back(batch);
    }
    for (auto& batch : all)
      for (auto& row : batch.rows)
        row.pixels.clear(); // an order has none
    CHECK((table_of(all) == order));
  }

  /// Every stored set goes on in other worlds to the same end.
  void check_sets() {
    const auto whole =
        bench.ask({"run", "--pipeline", bench.at / "job.leat", "--epochs", std::to_string(epochs_)})
            .at("digest");
    std::size_t sets = 0;
    for (const auto& entry : fs::directory_iterator{bench.at / "sets"}) {
      const auto copy = bench.at / ("copy." + std::to_string(sets++));
      fs::create_directory(copy);
      fs::copy_file(entry.path(), fs::path{copy} / entry.path().filename());
      for (const auto* world : {"1", "3"})
        CHECK(bench
                  .ask({"run", "--pipeline", bench.at / "job.leat", "--epochs",
                        std::to_string(epochs_), "--world-size", world, "--workers", "1",
                        "--snapshot-dir", copy, "--snapshot-every", "100000", "--resume"})
                  .at("digest")
              == whole);
    }
    CHECK(sets > 0);
  }

  command_bench bench;

private:
  std::uint64_t world_size_;
  std::uint64_t epochs_;
  words options_;
  std::map<std::uint64_t, std::unique_ptr<child_process>> ranks_;
};

constexpr auto by_key =
    R"(count(1500).filter("key_hash@1", keep=80).shuffle_buffer(48, seed=1).batch(12, lanes=12, end="mask"))";
constexpr auto by_content =
    R"(count(900).shuffle(seed=3).filter("field_hash@1", field="value", keep=60).batch(12, lanes=12, end="drop"))";
constexpr auto indexed = R"(count(1200).shuffle(seed=5).batch(12, lanes=12))";

unsigned seed_of_run() {
  const char* given = std::getenv("LEAT_TEST_SEED");
  const auto seed = given ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
  WARN("seed " << seed << " (LEAT_TEST_SEED)");
  return seed;
}

/// Kills ranks, rank 0 with the coordinator among them, and stops some for longer than they may be
/// silent.
void trouble(cluster_job& job, std::mt19937& random, int times) {
  for (int i = 0; i < times && job.is_running(); ++i) {
    const auto rank = random() % job.world_size();
    std::this_thread::sleep_for(milliseconds{random() % 700});
    if (!job.rank(rank).is_running())
      continue;
    if (random() % 4 == 0) {
      job.rank(rank).signal(SIGSTOP);
      std::this_thread::sleep_for(milliseconds{random() % 1500});
      job.rank(rank).signal(SIGCONT);
      continue;
    }
    job.rank(rank).kill();
    std::this_thread::sleep_for(milliseconds{random() % 300});
    job.start(rank);
  }
}

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

TEST_CASE("ranks that are killed and stopped come back with all others") {
  std::mt19937 random{seed_of_run()};
  cluster_job job{
      GENERATE(by_key, by_content), 3, 4, {"--snapshot-every", "20", "--step-time", "5"}};
  job.start_all();
  job.wait_for_batches(0, 10);
  trouble(job, random, 6);
  job.check_end();
  job.check_sets();
}

TEST_CASE("ranks that are killed and stopped come back alone") {
  std::mt19937 random{seed_of_run()};
  cluster_job job{GENERATE(by_key, indexed),
                  3,
                  4,
                  {"--snapshot-every", "20", "--step-time", "5", "--on-rank-loss", "alone",
                   "--run-ahead", "40"}};
  job.start_all();
  job.wait_for_batches(0, 10);
  trouble(job, random, 6);
  job.check_end();
  job.check_sets();
}

TEST_CASE("a rank that is started when the job has ended and its coordinator gone learns that") {
  cluster_job job{indexed, 1, 2, {"--step-time", "1"}};
  job.start_all();
  for (const std::uint64_t rank : {0, 1})
    CHECK(job.rank(rank).wait() == 0);
  job.start(1);
  CHECK(job.rank(1).wait() == 0);
  const auto errors = read_file(job.errors_of(1));
  CAPTURE(errors);
  CHECK(contains(errors, "this job is over"));
  // Another job does not take that for its own end.
  job.start(1, {"--steps", "7", "--join-within", "1"});
  CHECK(job.rank(1).wait() == 1);
  CHECK(contains(read_file(job.errors_of(1)), "no seat within 1 s"));
}

TEST_CASE("an elastic job shrinks when a rank is lost, and grows after a stored set") {
  cluster_job job{by_key, 4, 0, {"--snapshot-every", "20", "--step-time", "40"}};
  const coordinator_process coordinator{
      job.bench,
      "coordinator",
      {"--state", job.bench.at / "state", "--lost-after", "3", "--lease", "5", "--last-call", "1"}};
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

TEST_CASE("processes of different jobs are told what differs, both of them") {
  cluster_job job{indexed, 1, 2, {"--step-time", "1"}};
  job.start(0);
  job.start(1, {"--steps", "7"});
  for (const std::uint64_t rank : {0, 1}) {
    CHECK(job.rank(rank).wait() == 1);
    const auto errors = read_file(job.errors_of(rank));
    CAPTURE(errors);
    CHECK(contains(errors, "differ"));
    CHECK(contains(errors, "steps: "));
  }
}

TEST_CASE("a rank that is started twice is told who has its place") {
  cluster_job job{indexed, 1, 2, {"--step-time", "100"}};
  job.start_all();
  job.wait_for_batches(1, 3);
  const auto twin = job.bench.leat({"run", "--pipeline", job.bench.at / "job.leat", "--epochs", "1",
                                    "--cluster", "127.0.0.1:0", "--state", job.bench.at / "state",
                                    "--rank", "1", "--world-size", "2", "--snapshot-dir",
                                    job.bench.at / "sets", "--beat", "100", "--join-within", "2"},
                                   "LEAT_CLUSTER_TOKEN=secret");
  CAPTURE(twin.errors);
  CHECK(twin.code == 1);
  CHECK(contains(twin.errors, "no seat within 2 s"));
  CHECK(contains(twin.errors, "rank 1"));
}

TEST_CASE("a process with another token gets no seat, and one alone says who is missing") {
  cluster_job job{indexed, 1, 2, {}};
  job.start(0, {"--join-within", "3"});
  const auto other =
      job.bench.leat({"run", "--pipeline", job.bench.at / "job.leat", "--epochs", "1", "--cluster",
                      "127.0.0.1:0", "--state", job.bench.at / "state", "--rank", "1",
                      "--world-size", "2", "--beat", "100", "--join-within", "2"},
                     "LEAT_CLUSTER_TOKEN=guess");
  CHECK(other.code == 1);
  CHECK(contains(other.errors, "no seat within 2 s"));
  CHECK(job.rank(0).wait() == 1);
  const auto errors = read_file(job.errors_of(0));
  CAPTURE(errors);
  CHECK(contains(errors, "no seat within 3 s"));
  CHECK(contains(errors, "1"));
}

} // namespace
} // namespace leat::test
