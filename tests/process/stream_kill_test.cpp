#include "tests/support/command.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitized.hpp"

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
      other_program child{command(step_time_), bench.at / "out"};
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
  void verify(const std::string& order) const { bench.verify_good({order, log()}); }

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

  std::string one_of(const words& values) { return values[random_() % values.size()]; }

  words command(int step_time) {
    return words{leat_command, "run"} + arguments_
           + words{"--world-size", one_of(words_of("1 2 3 4 6 8 12"))}
           + words{"--workers", one_of(words_of("0 1 2 4")), "--dispatch", one_of(policy_names)}
           + words{"--snapshot-every", one_of(words_of("1 2 5")), "--snapshot-dir",
                   bench.at / "snapshots"}
           + words{"--log", log(), "--resume", "--step-time", std::to_string(step_time)};
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
  const command_bench bench;
  const auto& data = bench.at;
  write_documents(data / "a.jsonl", 1);
  write_documents(data / "b.jsonl", 2);
  const words job = bench.pipeline(R"(
a = json_lines("DIR/a.jsonl", ranges=24, file_order="shuffled", seed=3)
    .filter("field_hash@1", field="tokens", keep=70).shuffle_buffer(240, seed=1)
b = json_lines("DIR/b.jsonl", ranges=24)
    .filter("field_hash@1", field="tokens", keep=50).shuffle_buffer(480, seed=2)
mix(a, b, weights=[2, 1]).pack("tokens", 64, bins=4).batch(48, lanes=24, end="cycle")
)") + words{"--steps", std::to_string(steps)};
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
/// Returns how many there were.
std::uint64_t write_lines(const std::stop_token& stop, pipe_pair& to, const std::string& copy) {
  std::ofstream file{copy};
  std::uint64_t lines = 0;
  for (; !stop.stop_requested(); ++lines) {
    const auto line = "line " + std::to_string(lines) + '\n';
    file << line;
    to.write(line);
    // Like a slow source: otherwise everything would be in the journal before the first death.
    if (lines % 4 == 0)
      std::this_thread::sleep_for(milliseconds{1});
  }
  to.close_in();
  return lines;
}

TEST_CASE("kill: each line of standard input is trained on exactly once, over 50 deaths") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  const command_bench bench;
  const auto& data = bench.at;
  const words job =
      bench.pipeline("standard_input().shuffle_buffer(96, seed=1).batch(48, lanes=24)");
  killed_job x{job + words{"--journal", data / "journal"}, seed, 2};
  std::uint64_t lines = 0;
  {
    pipe_pair pipe;
    const standard_input_from input{pipe.out()};
    std::jthread writer{
        [&](const std::stop_token& stop) { lines = write_lines(stop, pipe, data / "lines"); }};
    REQUIRE(x.kill_often()); // there is always one more line
    writer.request_stop();
    x.run_to_end();
    writer.join();
  }
  REQUIRE(lines > 48 * kills);
  x.bench.input = data / "lines";
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
