#pragma once

#include "tests/support/command.hpp"

#include <chrono>
#include <random>
#include <thread>

namespace leat::test {

/// What a `kill_drill` runs.
struct drilled_job {
  /// Data, and options of every command.
  words options;
  /// Options of `run` only.
  words run_options = {};
  std::uint64_t epochs = 2;
  /// Instead of `options`: the same data in other places. Each attempt draws one.
  std::vector<words> elsewhere = {};
};

/// The lines of a log that are whole.
inline std::vector<json> whole_lines_of(const std::string& file) {
  std::vector<json> result;
  std::istringstream in{read_file(file)};
  for (std::string line; std::getline(in, line);)
    if (auto x = json::parse(line, nullptr, false); !x.is_discarded())
      result.push_back(std::move(x));
  return result;
}

/// A job that is killed at random moments and resumed in another shape. What its attempts hand over
/// is compared with an uninterrupted run.
class kill_drill : public command_bench {
public:
  using milliseconds = std::chrono::milliseconds;

  kill_drill(drilled_job what, unsigned seed) : job_(std::move(what)), random_(seed) {
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
          words{leat_command, "run"} + drawn_place() + job_.run_options
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
      for (const auto& line : whole_lines_of(file))
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
  const words& drawn_place() {
    const auto place = job_.elsewhere.empty() ? 0 : random_() % (job_.elsewhere.size() + 1);
    return place == 0 ? job_.options : job_.elsewhere[place - 1];
  }

  drilled_job job_;
  std::mt19937 random_;
  std::size_t attempts_ = 0;
  words logs_;
};

} // namespace leat::test
