#include "tests/support/command.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/places.hpp"

#include <sched.h>
#include <sys/stat.h>

#include <csignal>

// Ends jobs by signals; what they handed over, together with what a resume hands over, must be what
// an unbroken run has.
namespace leat::test::signals_test {
namespace {

using std::chrono::milliseconds;

/// Polls, as only files show what a process does. The condition may become true just before the
/// process ends.
template <class Condition>
void wait_until(const other_program& child, Condition is_so) {
  for (;;) {
    const bool runs = child.is_running();
    if (is_so())
      return;
    REQUIRE(runs);
    std::this_thread::sleep_for(milliseconds{1});
  }
}

/// A job that a test can send signals to.
class signalled_job {
public:
  signalled_job(const command_bench& bench, words arguments) : bench_(bench) {
    const words shell{"/bin/sh", "-c", "exec \"$@\" 2>'" + errors() + "'", "sh", leat_command};
    child_.emplace(shell + arguments, output());
  }

  void signal(int x) const { child_->signal(x); }
  template <class Condition>
  void wait_until(Condition is_so) const {
    signals_test::wait_until(*child_, is_so);
  }
  void wait_for_steps(std::size_t n) const {
    wait_until([&] { return count_of(read_file(log()), "\"step\"") >= n; });
  }
  /// Waits until the job has received a signal.
  void wait_for_notice() const {
    wait_until([&] { return contains(read_file(errors()), "the job ends after its batch"); });
  }
  outcome end() { return {child_->wait(), read_file(output()), read_file(errors())}; }
  /// Like end(), but kills a job that does not end in time.
  outcome end_within(std::chrono::seconds time) {
    const auto limit = std::chrono::steady_clock::now() + time;
    while (child_->is_running() && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(milliseconds{1});
    if (child_->is_running())
      child_->signal(SIGKILL);
    return end();
  }

  std::string log() const { return bench_.at / "log"; }

private:
  std::string errors() const { return bench_.at / "job-errors"; }
  std::string output() const { return bench_.at / "job-output"; }

  const command_bench& bench_;
  std::optional<other_program> child_;
};

const words paced = words_of("count:100000 --global-batch 10 --step-time 2");

words with_log(const command_bench& x) {
  return {"--log", x.at / "log", "--snapshot-dir", x.at / "snapshots", "--json"};
}

TEST_CASE("command: SIGINT and SIGTERM end a job after its batch, with a snapshot and a summary") {
  for (const int signal : {SIGINT, SIGTERM})
    for (const std::string workers : {"0", "2"}) {
      CAPTURE(signal, workers);
      command_bench x;
      const auto job = words{"run"} + paced + words{"--workers", workers} + with_log(x);
      signalled_job first{x, job};
      first.wait_for_steps(5);
      first.signal(signal);
      const auto ended = first.end();
      CAPTURE(ended.errors);
      REQUIRE(ended.code == 128 + signal);
      const auto summary = json_lines(ended.output).at(0);
      REQUIRE(summary.at("ended_by") == (signal == SIGINT ? "SIGINT" : "SIGTERM"));
      const std::uint64_t steps = summary.at("global_step");
      REQUIRE(steps == batches_of(first.log()).size());
      REQUIRE(summary.at("samples") == 10 * steps);
      // It resumes exactly there.
      x.succeed(job + words{"--resume", "--steps", std::to_string(steps + 3)});
      const auto attempts = attempts_of(first.log());
      REQUIRE(attempts.at(1).header.at("resumed_at").at("step") == steps);
      const auto due = x.order({"count:100000", "--global-batch", "10"}, 1, x.at / "order");
      REQUIRE(check_sequence(batches_of(first.log()), due, {0, 0}, 1)
              == std::next(due.begin(), static_cast<std::ptrdiff_t>(steps + 3)));
    }
}

TEST_CASE("command: a signal ends a job that waits for standard input, and no line is lost") {
  for (const std::string shape : {"--workers 0 --world-size 1", "--workers 2 --world-size 1",
                                  "--workers 0 --world-size 2", "--workers 2 --world-size 2"}) {
    CAPTURE(shape);
    command_bench x;
    const auto job = words_of("run - --global-batch 4 --end drop --lanes 2 " + shape)
                     + words{"--journal", x.at / "journal"} + with_log(x);
    std::string lines;
    for (int i = 0; i < 11; ++i) // a rank may have its part of the third batch, but not both
      lines += "line " + std::to_string(i) + "\n";
    const auto ranks = std::stoul(shape.substr(shape.size() - 1));
    {
      pipe_pair input;
      const standard_input_from place{input.out()};
      input.write(lines);
      signalled_job first{x, job};
      // Batches are handed over once it is known whether they are the last.
      first.wait_for_steps(ranks);
      first.signal(SIGTERM);
      const auto ended = first.end();
      CAPTURE(ended.errors);
      REQUIRE(ended.code == 143);
      const std::uint64_t steps = json_lines(ended.output).at(0).at("global_step");
      REQUIRE(steps * ranks == batches_of(first.log()).size());
    }
    pipe_pair input;
    const standard_input_from place{input.out()};
    input.write("line 11\nline 12\nline 13\nline 14\nline 15\n");
    input.close_in();
    x.succeed(job + words{"--resume"});
    std::vector<std::string> ids;
    for (const auto& [step, rows] : table_of(batches_of(x.at / "log")))
      for (const auto& row : rows)
        ids.push_back(row.id);
    REQUIRE(ids.size() == 16);
    std::sort(ids.begin(), ids.end());
    REQUIRE(std::unique(ids.begin(), ids.end()) == ids.end());
  }
}

/// While this lives, this thread and the processes that it starts have one core.
class one_core {
public:
  one_core() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    std::size_t core = 0;
    while (!CPU_ISSET(core, &before_))
      ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~one_core() { (void)::sched_setaffinity(0, sizeof before_, &before_); }
  one_core(const one_core&) = delete;
  one_core& operator=(const one_core&) = delete;

private:
  cpu_set_t before_;
};

TEST_CASE("command: a signal as a job over standard input begins ends it") {
  const one_core busy;
  for (int i = 0; i < 25; ++i) {
    CAPTURE(i);
    command_bench x;
    pipe_pair input;
    const standard_input_from place{input.out()};
    input.write("1\n2\n3\n4\n5\n");
    signalled_job job{x, words_of("run - --global-batch 4 --end drop --workers 2 --journal")
                             + words{x.at / "journal"} + with_log(x)};
    job.wait_until([&] { return contains(read_file(job.log()), "\n"); });
    job.signal(SIGTERM);
    const auto ended = job.end_within(std::chrono::seconds{30});
    CAPTURE(ended.errors);
    REQUIRE(ended.code == 143);
  }
}

TEST_CASE("command: a second signal ends a job at once") {
  command_bench x;
  signalled_job job{x, words_of("run count:1000 --step-time 86400000 --workers 1") + with_log(x)};
  job.wait_for_steps(1);
  job.signal(SIGINT);
  job.wait_for_notice();
  job.signal(SIGTERM);
  const auto ended = job.end();
  REQUIRE(ended.code == 143);
  REQUIRE(ended.output.empty());
}

/// Whether the process's main thread blocks this signal, which a thread for signals then gets.
bool is_blocked(const std::string& process, int signal) {
  std::istringstream status{read_file("/proc/" + process + "/status")};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

TEST_CASE("command: a signal before there is a job ends the command at once") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    command_bench x;
    const auto fifo = x.at / "fifo"; // nobody reads from it, so opening it never returns
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const auto process = x.at / "process";
    const words shell{"/bin/sh", "-c", "echo $$ >'" + process + "'; exec \"$@\"", "sh",
                      leat_command};
    other_program child{shell + words{"run", "count:100", "--trace", fifo}, x.at / "output"};
    const auto id = [&] {
      const auto text = read_file(process);
      return text.substr(0, text.find('\n'));
    };
    wait_until(child, [&] { return is_blocked(id(), signal); });
    child.signal(signal);
    REQUIRE(child.wait() == 128 + signal);
    REQUIRE(read_file(x.at / "output").empty());
  }
}

TEST_CASE("command: a signal that the job was started to ignore does not end it") {
  command_bench x;
  // The shell ignores the signal, and so does the job, which inherits that.
  const words job{"run", "count:200", "--global-batch", "10", "--step-time", "2"};
  const words shell{"/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh", leat_command};
  const auto log = x.at / "log";
  other_program child{shell + job + words{"--log", log}, x.at / "out"};
  wait_until(child, [&] { return count_of(read_file(log), "\"step\"") >= 3; });
  child.signal(SIGINT);
  REQUIRE(child.wait() == 0);
  REQUIRE(batches_of(log).size() == 20);
}

std::size_t spans_of(const json& trace, const std::string& name) {
  const auto& all = trace.at("traceEvents");
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const json& x) {
    return x.at("ph") == "X" && x.at("name") == name;
  }));
}

TEST_CASE("command: a trace shows what workers, slots and snapshots did") {
  command_bench x;
  const auto file = x.at / "trace.json";
  x.succeed(
      words_of("run count:60 --global-batch 10 --workers 2 --fault slow:0,1 --fault slow:1,1")
      + words{"--snapshot-dir", x.at / "snapshots", "--snapshot-every", "2", "--trace", file});
  const auto trace = json::parse(read_file(file));
  REQUIRE(spans_of(trace, "row") == 60);
  REQUIRE(spans_of(trace, "making") == 6);
  REQUIRE(spans_of(trace, "snapshot") == 3);
  REQUIRE(spans_of(trace, "wait for a batch") > 0);
  std::uint64_t rows = 0;
  for (const auto& e : trace.at("traceEvents"))
    if (e.at("name") == "rows")
      rows += e.at("args").at("rows").get<std::uint64_t>();
  REQUIRE(rows == 60);
  REQUIRE(trace.at("otherData").at("spans_left_out") == 0);
}

TEST_CASE("command: a trace is whole JSON where the job fails or is ended by signals") {
  command_bench x;
  const auto file = x.at / "trace.json";
  x.says(words_of("run count:1000 --workers 1 --fault throw:500 --trace " + file), 1);
  REQUIRE(spans_of(json::parse(read_file(file)), "rows") > 0);
  // Each batch takes long enough to be shown.
  const auto job = words{"run"} + paced
                   + words{"--workers", "1", "--fault", "slow:0,1", "--trace", file} + with_log(x);
  {
    signalled_job ended{x, job};
    ended.wait_for_steps(3);
    ended.signal(SIGINT);
    REQUIRE(ended.end().code == 130);
    REQUIRE(spans_of(json::parse(read_file(file)), "making") >= 3);
  }
  signalled_job killed{x, job + words{"--resume"}};
  killed.wait_for_steps(8);
  killed.signal(SIGKILL);
  REQUIRE(killed.end().code == -1);
  REQUIRE(json::parse(read_file(file)).at("traceEvents").is_array());
}

} // namespace
} // namespace leat::test::signals_test
