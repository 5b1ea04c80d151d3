#include "tests/support/command.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitized.hpp"

#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <thread>

// Kills jobs over streams at random moments and resumes them in another shape, until they end. What
// they trained on must be what an unbroken run trains on.

namespace leat::test::stream_kill_test {
namespace {

using std::chrono::milliseconds;

constexpr int kills = sanitized ? 10 : 50;
constexpr std::size_t steps = sanitized ? 400 : 1000;

class killed_job {
public:
  /// `arguments` are those of every attempt; `step_time` is how many milliseconds a step takes
  /// until all deaths are over.
  killed_job(words arguments, unsigned seed, int step_time)
      : arguments_(std::move(arguments)), random_(seed), step_time_(step_time) {}

  /// False if the job came to its end before all deaths were over.
  bool kill_often() {
    for (int i = 0; i < kills; ++i) {
      CAPTURE(i);
      const auto trained = log_bytes();
      child_process child{command(step_time_), bench.at / "out"};
      // Most attempts make progress, also on a slow machine.
      while (i % 5 != 0 && log_bytes() < trained + bytes_of_a_batch && child.is_running())
        std::this_thread::sleep_for(milliseconds{1});
      // The moment of death is the point of the test; nothing waits for it.
      std::this_thread::sleep_for(std::chrono::microseconds{random_() % 40'000});
      if (!child.is_running()) {
        REQUIRE(child.wait() == 0);
        return false;
      }
      child.kill();
    }
    return true;
  }
  void run_to_end() {
    const auto finished = run_process(command(2), bench.at / "out");
    CAPTURE(finished.output);
    REQUIRE(finished.code == 0);
  }

  /// Checks that every attempt resumed at a step that the previous one had reached, and continued
  /// without a gap or an error as far as it got.
  void check_attempts(const batch_table& order) const {
    auto reached = order.begin();
    for (const auto& x : attempts_of(log())) {
      const std::uint64_t world_size = x.header.at("world_size");
      auto batches = x.batches;
      // Drops steps that not all ranks had reached when they died.
      batches.erase(batches.end() - static_cast<std::ptrdiff_t>(batches.size() % world_size),
                    batches.end());
      if (batches.empty())
        continue;
      const step_key first{batches.front().epoch, batches.front().step};
      REQUIRE((reached == order.end() || first <= reached->first));
      reached = check_sequence(batches, order, first, world_size);
    }
    REQUIRE(reached == order.end());
  }
  /// Runs the command's own audit, digests included.
  void verify(const std::string& order) const {
    const auto report = bench.verify({order, log()});
    CAPTURE(report);
    for (const auto* kind : {"lost", "repeated", "moved", "changed", "extra"})
      REQUIRE(report.at(kind) == 0);
  }

  std::string log() const { return bench.at / "log"; }

  command_bench bench;

private:
  /// Less than the lines of a batch's ranks, and more than the header before them.
  static constexpr std::uintmax_t bytes_of_a_batch = 1000;

  std::uintmax_t log_bytes() const {
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(log(), missing);
    return missing ? 0 : bytes;
  }

  template <class T, std::size_t N>
  T one_of(const T (&values)[N]) {
    return values[random_() % N];
  }

  words command(int step_time) {
    const int worlds[] = {1, 2, 3, 4, 6, 8, 12};
    const int workers[] = {0, 1, 2, 4};
    const int every[] = {1, 2, 5};
    const char* const policies[] = {"on_demand", "round_robin", "by_lane"};
    return words{leat_command, "run"} + arguments_
           + words{"--world-size",
                   std::to_string(one_of(worlds)),
                   "--workers",
                   std::to_string(one_of(workers)),
                   "--dispatch",
                   one_of(policies),
                   "--snapshot-dir",
                   bench.at / "snapshots",
                   "--snapshot-every",
                   std::to_string(one_of(every)),
                   "--log",
                   log(),
                   "--resume",
                   "--step-time",
                   std::to_string(step_time)};
  }

  words arguments_;
  std::mt19937 random_;
  const int step_time_;
};

/// Documents of up to 40 tokens.
void write_documents(const std::string& file, unsigned seed) {
  std::mt19937 random{seed};
  std::ofstream out{file};
  for (int i = 0; i < 2000; ++i) {
    auto tokens = json::array();
    for (auto left = random() % 41; left > 0; --left)
      tokens.push_back(random() % 1000);
    out << json{{"tokens", tokens}} << '\n';
  }
}

/// Pixel hashes of all rows that were trained on.
std::set<std::string> contents_of(const batch_table& table) {
  std::set<std::string> result;
  for (const auto& [step, rows] : table)
    for (const auto& row : rows)
      result.insert(std::to_string(step.second) + ' ' + std::to_string(row.position) + ' '
                    + row.pixels);
  return result;
}

TEST_CASE("kill: two filtered, buffered streams, mixed and packed, with 50 deaths") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  temporary_directory data;
  write_documents(data / "a.jsonl", 1);
  write_documents(data / "b.jsonl", 2);
  std::ofstream{data / "job.leat"}
      << "a = json_lines(\"" << data / "a.jsonl"
      << "\", ranges=24, file_order=\"shuffled\", seed=3)"
         ".filter(\"field_hash@1\", field=\"tokens\", keep=70).shuffle_buffer(240, seed=1)\n"
         "b = json_lines(\""
      << data / "b.jsonl"
      << "\", ranges=24)"
         ".filter(\"field_hash@1\", field=\"tokens\", keep=50).shuffle_buffer(480, seed=2)\n"
         "mix(a, b, weights=[2, 1]).pack(\"tokens\", 64, bins=4)"
         ".batch(48, lanes=24, end=\"cycle\")\n";
  const words job{"--pipeline", data / "job.leat", "--steps", std::to_string(steps)};

  // Longer steps for a machine on which jobs end before the test has killed them often enough.
  std::optional<killed_job> made;
  for (int step_time = 2; !made || !made->kill_often(); step_time *= 4)
    made.emplace(job, seed, step_time);
  auto& x = *made;
  const auto order = x.bench.order(job, 1, data / "order");
  REQUIRE(order.size() == steps);
  x.run_to_end();
  x.check_attempts(order);
  x.verify(data / "order");
  x.bench.succeed(words{"run"} + job + words{"--log", data / "unbroken"});
  REQUIRE(contents_of(table_of(batches_of(x.log())))
          == contents_of(table_of(batches_of(data / "unbroken"))));
}

/// Writes lines to a pipe, and to a file, until it is told to stop; closes the pipe at the end.
class line_writer {
public:
  line_writer(pipe_pair& to, const std::string& copy)
      : thread_([this, &to, copy] { write_lines(to, copy); }) {}
  ~line_writer() {
    stop();
    count();
  }
  line_writer(const line_writer&) = delete;
  line_writer& operator=(const line_writer&) = delete;

  /// Does not wait: there may be no room in the pipe.
  void stop() noexcept { stop_ = true; }
  /// How many lines there were. Waits for the end.
  std::uint64_t count() {
    if (thread_.joinable())
      thread_.join();
    return lines_;
  }

private:
  void write_lines(pipe_pair& to, const std::string& copy) {
    std::ofstream file{copy};
    for (; !stop_; ++lines_) {
      const auto line = "line " + std::to_string(lines_) + '\n';
      file << line;
      to.write(line);
      // Like a slow source: otherwise everything would be in the journal before the first death.
      if (lines_ % 4 == 0)
        std::this_thread::sleep_for(milliseconds{1});
    }
    to.close_in();
  }

  std::atomic<bool> stop_ = false;
  std::uint64_t lines_ = 0;
  std::thread thread_;
};

/// Replaces standard input by a file.
class standard_input_from_file {
public:
  explicit standard_input_from_file(const std::string& file)
      : file_(::open(file.c_str(), O_RDONLY)), input_(file_) {}
  ~standard_input_from_file() { ::close(file_); }
  standard_input_from_file(const standard_input_from_file&) = delete;
  standard_input_from_file& operator=(const standard_input_from_file&) = delete;

private:
  int file_;
  standard_input_from input_;
};

TEST_CASE("kill: each line of standard input is trained on exactly once, over 50 deaths") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  temporary_directory data;
  std::ofstream{data / "job.leat"}
      << "standard_input().shuffle_buffer(96, seed=1).batch(48, lanes=24)";
  const words job{"--pipeline", data / "job.leat"};
  killed_job x{job + words{"--journal", data / "journal"}, seed, 2};
  std::uint64_t lines = 0;
  {
    pipe_pair pipe;
    const standard_input_from input{pipe.out()};
    line_writer writer{pipe, data / "lines"};
    REQUIRE(x.kill_often()); // there is always one more line
    writer.stop();
    x.run_to_end();
    lines = writer.count();
  }
  REQUIRE(lines > 48 * kills);
  const standard_input_from_file all{data / "lines"};
  const auto order = x.bench.order(job, 1, data / "order");
  std::set<std::string> ids;
  for (const auto& [step, rows] : order)
    for (const auto& row : rows)
      REQUIRE(ids.insert(row.id).second);
  REQUIRE(ids.size() == lines);
  x.check_attempts(order);
  x.verify(data / "order");
}

} // namespace
} // namespace leat::test::stream_kill_test
