#include "tests/support/catch.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_directory.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Kills the leat command at random moments, resumes it in another shape, and compares what it
// handed over with an uninterrupted run: lost, repeated, moved, changed.

namespace leat::kill_test {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

struct job {
  std::vector<std::string> data;
  /// Options of every command, and those of `run` only.
  std::vector<std::string> options;
  std::vector<std::string> run_options = {};
  std::uint64_t epochs = 2;
};

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<json> lines_of(const std::string& file) {
  std::vector<json> result;
  std::istringstream in{read_file(file)};
  for (std::string line; std::getline(in, line);)
    if (auto x = json::parse(line, nullptr, false); !x.is_discarded())
      result.push_back(std::move(x));
  return result;
}

class drill {
public:
  drill(job what, unsigned seed) : job_(std::move(what)), random_(seed) {
    for (std::uint64_t e = 0; e < job_.epochs; ++e) {
      auto x = leat({"order"}, {"--epoch", std::to_string(e)});
      REQUIRE(x.code == 0);
      order_ += x.output;
    }
    std::ofstream{at / "order"} << order_;
    REQUIRE(leat({"run"}, {"--epochs", epochs(), "--workers", "1", "--log", at / "reference"}).code
            == 0);
  }

  finished_process leat(const std::vector<std::string>& verb,
                        const std::vector<std::string>& more) {
    return run_process(std::vector<std::string>{test::leat_command} + verb + job_.data
                           + job_.options + more,
                       at / "output");
  }

  /// Runs one attempt, which is killed after a random time or runs to its end. All ranks run in one
  /// process, or each in its own. Returns whether it ended by itself.
  bool attempt(std::uint64_t world, std::size_t workers, bool own_processes,
               milliseconds patience) {
    const auto expected = next_step();
    const auto number = std::to_string(attempts_++);
    std::vector<child_process> children;
    std::string logs;
    for (std::uint64_t rank = 0; rank < (own_processes ? world : 1); ++rank) {
      const auto log = at / ("log-" + number + "-" + std::to_string(rank));
      auto command = std::vector<std::string>{test::leat_command, "run"} + job_.data + job_.options
                     + job_.run_options
                     + std::vector<std::string>{"--epochs",
                                                epochs(),
                                                "--world-size",
                                                std::to_string(world),
                                                "--workers",
                                                std::to_string(workers),
                                                "--log",
                                                log,
                                                "--snapshot-dir",
                                                at / "snapshots",
                                                "--snapshot-every",
                                                std::to_string(1 + random_() % 3),
                                                "--resume",
                                                "--json",
                                                "--dispatch",
                                                policies[random_() % 3]};
      if (own_processes)
        command = command + std::vector<std::string>{"--rank", std::to_string(rank)};
      children.emplace_back(command, at / ("out-" + number + "-" + std::to_string(rank)));
      logs += (logs.empty() ? "" : ",") + log;
    }
    logs_.push_back(logs);
    bool ended = true;
    if (patience.count() > 0) {
      // The moment of death is the point of the test; nothing waits for it.
      std::this_thread::sleep_for(patience);
      for (auto& x : children)
        x.kill();
      ended = false;
    } else {
      for (auto& x : children)
        REQUIRE(x.wait() == 0);
    }
    check_first_steps(logs, expected, own_processes);
    return ended;
  }

  /// The step from which a resume would continue, according to `inspect`.
  std::pair<std::uint64_t, std::uint64_t> next_step() {
    auto x =
        run_process({test::leat_command, "inspect", at / "snapshots", "--json"}, at / "inspect");
    if (x.code == 1)
      return {0, 0};
    REQUIRE(x.code == 0);
    auto state = json::parse(x.output);
    return {state["epoch"], state["step"]};
  }

  /// Checks that each rank resumes at the newest complete set. Separate processes look for it at
  /// different times: a part that this attempt has written may complete a set with parts of earlier
  /// attempts, and a rank that looks after that begins there.
  void check_first_steps(const std::string& logs, std::pair<std::uint64_t, std::uint64_t> expected,
                         bool own_processes) {
    std::istringstream files{logs};
    for (std::string file; std::getline(files, file, ',');)
      for (const auto& line : lines_of(file))
        if (line.contains("step")) {
          CAPTURE(file);
          const std::pair<std::uint64_t, std::uint64_t> first{line["epoch"], line["step"]};
          REQUIRE((own_processes ? first >= expected : first == expected));
          break;
        }
  }

  /// Checks all attempts, and every row's pixels against the uninterrupted run.
  void verify() {
    auto x = run_process(std::vector<std::string>{test::leat_command, "verify", at / "order"}
                             + logs_ + std::vector<std::string>{"--json"},
                         at / "verdict");
    CAPTURE(x.output);
    REQUIRE(x.code == 0);
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> pixels;
    auto each_row = [&](const std::string& file, auto f) {
      for (const auto& line : lines_of(file))
        if (line.contains("step"))
          for (std::size_t i = 0; i < line["positions"].size(); ++i)
            f(std::pair<std::uint64_t, std::uint64_t>{line["epoch"], line["positions"][i]},
              line["pixels"][i].get<std::string>());
    };
    each_row(at / "reference", [&](auto key, auto hash) { pixels[key] = hash; });
    std::size_t rows = 0;
    for (const auto& logs : logs_) {
      std::istringstream files{logs};
      for (std::string file; std::getline(files, file, ',');)
        each_row(file, [&](auto key, auto hash) {
          ++rows;
          REQUIRE(pixels.at(key) == hash);
        });
    }
    REQUIRE(rows >= pixels.size());
  }

  void add_log(std::string log) { logs_.push_back(std::move(log)); }

  std::string epochs() const { return std::to_string(job_.epochs); }
  std::mt19937& random() { return random_; }

  const std::vector<std::string> policies{"on_demand", "round_robin", "by_lane"};
  test::temporary_directory at;

private:
  job job_;
  std::mt19937 random_;
  std::string order_;
  std::size_t attempts_ = 0;
  std::vector<std::string> logs_;
};

TEST_CASE("kill: twenty random deaths in two epochs, each time other ranks and workers") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  drill x{{{"count:20000:64"}, {"--global-batch", "120", "--lanes", "24"}, {"--step-time", "1"}},
          seed};
  const std::uint64_t worlds[] = {1, 2, 3, 4, 8};
  const std::size_t workers[] = {0, 1, 2, 3, 8};
  for (int i = 0; i < 20; ++i)
    x.attempt(worlds[x.random()() % 5], workers[x.random()() % 5], false,
              milliseconds{20 + x.random()() % 60});
  REQUIRE(x.attempt(3, 2, false, milliseconds{0}));
  x.verify();
}

TEST_CASE("kill: ranks in processes of their own, killed together") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  drill x{{{"count:9000:64"}, {"--global-batch", "90", "--end", "mask"}, {"--step-time", "1"}},
          seed};
  const std::uint64_t worlds[] = {2, 3, 5};
  for (int i = 0; i < 8; ++i)
    x.attempt(worlds[i % 3], 1 + x.random()() % 3, true, milliseconds{30 + x.random()() % 60});
  REQUIRE(x.attempt(2, 2, true, milliseconds{0}));
  x.verify();
}

// Without a coordinator, nothing determines a common start for the ranks. A set is complete when
// each rank has handed over what comes before it, whenever that was.
TEST_CASE(
    "kill: a rank that starts late begins where a set with a part it left behind is complete") {
  drill x{{{"count:900:64"}, {"--global-batch", "90", "--end", "mask"}, {}, 1}, 0};
  auto run = [&](int rank, const std::string& log, std::vector<std::string> more) {
    auto rest = std::vector<std::string>{"--world-size", "2", "--rank", std::to_string(rank)}
                + std::vector<std::string>{"--log", x.at / log, "--resume", "--snapshot-dir"}
                + std::vector<std::string>{x.at / "snapshots", "--snapshot-every", "2"};
    REQUIRE(x.leat({"run"}, std::move(rest) + more).code == 0);
    x.add_log(x.at / log);
  };
  run(1, "left-behind", {"--steps", "6"});
  REQUIRE(x.next_step() == std::pair<std::uint64_t, std::uint64_t>{0, 0});
  run(0, "early", {"--steps", "5"});
  REQUIRE(x.next_step() == std::pair<std::uint64_t, std::uint64_t>{0, 4});
  run(1, "late", {});
  REQUIRE(lines_of(x.at / "late").at(1)["step"] == 4);
  run(0, "early again", {});
  x.verify();
}

TEST_CASE("kill: photographs, with windowed order") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  test::temporary_directory photos;
  REQUIRE(run_process({test::leat_command, "make-data", photos / "data", "--samples", "240",
                       "--shards", "6"},
                      photos / "out")
              .code
          == 0);
  drill x{
      {{photos / "data/*.tar"}, {"--global-batch", "24", "--shuffle", "windowed", "--window", "2"}},
      seed};
  const std::uint64_t worlds[] = {1, 2, 3, 6};
  for (int i = 0; i < 8; ++i)
    x.attempt(worlds[x.random()() % 4], x.random()() % 4, false,
              milliseconds{60 + x.random()() % 200});
  REQUIRE(x.attempt(4, 1, false, milliseconds{0}));
  x.verify();
}

} // namespace
} // namespace leat::kill_test
