// Kills the leat command at random moments, resumes it in another shape, and compares what it
// handed over with an uninterrupted run: lost, repeated, moved, changed.

#include "tests/support/command.hpp"

namespace leat::test::kill_test {
namespace {

using std::chrono::milliseconds;

struct job {
  /// Data, and options of every command.
  words options;
  /// Options of `run` only.
  words run_options = {};
  std::uint64_t epochs = 2;
};

/// The lines that are whole.
std::vector<json> lines_of(const std::string& file) {
  std::vector<json> result;
  std::istringstream in{read_file(file)};
  for (std::string line; std::getline(in, line);)
    if (auto x = json::parse(line, nullptr, false); !x.is_discarded())
      result.push_back(std::move(x));
  return result;
}

class drill : public command_bench {
public:
  drill(job what, unsigned seed) : job_(std::move(what)), random_(seed) {
    order(job_.options, job_.epochs, at / "order");
    succeed(words{"run"} + job_.options
            + words{"--epochs", epochs(), "--workers", "1", "--log", at / "reference"});
  }

  /// Runs one attempt, which is killed after a random time or runs to its end. All ranks run in one
  /// process, or each in its own.
  void attempt(std::uint64_t world, std::size_t workers, bool own_processes,
               milliseconds patience) {
    const auto expected = next_step(at / "snapshots");
    const auto number = std::to_string(attempts_++);
    std::vector<other_program> children;
    std::string logs;
    for (std::uint64_t rank = 0; rank < (own_processes ? world : 1); ++rank) {
      const auto log = at / ("log-" + number + "-" + std::to_string(rank));
      const auto command =
          words{leat_command, "run"} + job_.options + job_.run_options
          + words{"--epochs", epochs(), "--world-size", std::to_string(world)}
          + words{"--workers", std::to_string(workers), "--dispatch", policy_names[random_() % 3]}
          + words{"--snapshot-dir", at / "snapshots", "--resume", "--log", log, "--json"}
          + words{"--snapshot-every", std::to_string(1 + random_() % 3)}
          + (own_processes ? words{"--rank", std::to_string(rank)} : words{});
      children.emplace_back(command, at / ("out-" + number + "-" + std::to_string(rank)));
      logs += (logs.empty() ? "" : ",") + log;
    }
    logs_.push_back(logs);
    // The moment of death is the point of the test; nothing waits for it.
    std::this_thread::sleep_for(patience);
    for (auto& x : children)
      if (patience.count() > 0)
        x.kill();
      else
        REQUIRE(x.wait() == 0);
    check_first_steps(logs, expected, own_processes);
  }

  /// Checks that each rank resumes at the newest complete set. Separate processes look for it at
  /// different times: a part that this attempt has written may complete a set with parts of earlier
  /// attempts, and a rank that looks after that begins there.
  void check_first_steps(const std::string& logs, step_key expected, bool own_processes) {
    std::istringstream files{logs};
    for (std::string file; std::getline(files, file, ',');)
      for (const auto& line : lines_of(file))
        if (line.contains("step")) {
          CAPTURE(file);
          const step_key first{line["epoch"], line["step"]};
          REQUIRE((own_processes ? first >= expected : first == expected));
          break;
        }
  }

  /// Checks all attempts, and every row's pixels against the uninterrupted run.
  void check() const {
    const auto report = verify_good(words{at / "order", at / "reference"} + logs_);
    REQUIRE(report["attempts"] > 1);
  }
  void add_log(std::string log) { logs_.push_back(std::move(log)); }
  std::string epochs() const { return std::to_string(job_.epochs); }
  template <std::size_t N>
  std::uint64_t one_of(const std::uint64_t (&choices)[N]) {
    return choices[random_() % N];
  }
  milliseconds between(unsigned least, unsigned most) {
    return milliseconds{least + random_() % (most - least)};
  }

private:
  job job_;
  std::mt19937 random_;
  std::size_t attempts_ = 0;
  words logs_;
};

TEST_CASE("kill: twenty random deaths in two epochs, each time other ranks and workers") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  drill x{{words_of("count:20000:64 --global-batch 120 --lanes 24"), {"--step-time", "1"}}, seed};
  for (int i = 0; i < 20; ++i)
    x.attempt(x.one_of({1, 2, 3, 4, 8}), x.one_of({0, 1, 2, 3, 8}), false, x.between(20, 80));
  x.attempt(3, 2, false, milliseconds{0});
  x.check();
}

TEST_CASE("kill: ranks in processes of their own, killed together") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  drill x{{words_of("count:9000:64 --global-batch 90 --end mask"), {"--step-time", "1"}}, seed};
  for (int i = 0; i < 8; ++i)
    x.attempt(std::array{2, 3, 5}[static_cast<std::size_t>(i % 3)], x.one_of({1, 2, 3}), true,
              x.between(30, 90));
  x.attempt(2, 2, true, milliseconds{0});
  x.check();
}

// Without a coordinator, nothing determines a common start for the ranks. A set is complete when
// each rank has handed over what comes before it, whenever that was.
TEST_CASE(
    "kill: a rank that starts late begins where a set with a part it left behind is complete") {
  const auto options = words_of("count:900:64 --global-batch 90 --end mask");
  const auto snapshots = [](const drill& x) { return x.at / "snapshots"; };
  drill x{{options, {}, 1}, 0};
  auto run = [&](int rank, const std::string& log, const words& more) {
    x.succeed(words{"run"} + options + words_of("--world-size 2 --resume --snapshot-every 2")
              + words{"--rank", std::to_string(rank), "--log", x.at / log}
              + words{"--snapshot-dir", snapshots(x)} + more);
    x.add_log(x.at / log);
  };
  run(1, "left-behind", {"--steps", "6"});
  REQUIRE(x.next_step(snapshots(x)) == step_key{0, 0});
  run(0, "early", {"--steps", "5"});
  REQUIRE(x.next_step(snapshots(x)) == step_key{0, 4});
  run(1, "late", {});
  REQUIRE(lines_of(x.at / "late").at(1)["step"] == 4);
  run(0, "early again", {});
  x.check();
}

TEST_CASE("kill: photographs, with windowed order") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  const command_bench photos;
  photos.make_photos(photos.at / "data", 240, 6);
  drill x{{words{photos.at / "data/*.tar"}
           + words_of("--global-batch 24 --shuffle windowed --window 2")},
          seed};
  for (int i = 0; i < 8; ++i)
    x.attempt(x.one_of({1, 2, 3, 6}), x.one_of({0, 1, 2, 3}), false, x.between(60, 260));
  x.attempt(4, 1, false, milliseconds{0});
  x.check();
}

} // namespace
} // namespace leat::test::kill_test
