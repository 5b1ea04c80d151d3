#include "tests/support/cluster_job.hpp"
#include "tests/support/launched_programs.hpp"
#include "tests/support/network_link.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random_faults.hpp"

#include <signal.h>
#include <unistd.h>

// Random jobs of several processes under random faults of processes, links, coordinators and disks,
// and a launcher that restarts what has ended. In the end the ranks have handed over what one
// process hands over, and jobs of other world sizes resume from every stored set.
//
// LEAT_TEST_FAULTS:       how many faults, over as many jobs as that takes (10).
// LEAT_TEST_SEED:         seed of everything that is random here; times depend on the machine.
// LEAT_TEST_CERTIFICATES: 1: all jobs have certificates, 0: none has; otherwise some have.
namespace leat::test::cluster_faults_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

struct job_plan {
  std::string pipeline;
  words length;
  words options;
  std::uint64_t world_size;
  /// `leat coordinator` runs in its own process, to which each rank has a link of its own;
  /// otherwise rank 0 has the coordinator, and there are no links.
  bool has_coordinator_apart;
  /// At most so many milliseconds are between two faults.
  unsigned gap;
  /// The data exist once: lines of standard input.
  bool is_once = false;
  /// All processes have certificates, which are renewed at times.
  bool is_secured = false;

  std::string text() const {
    std::string result = pipeline + (has_coordinator_apart ? " apart" : " in rank 0")
                         + (is_secured ? " with" : " without") + " certificates";
    for (const auto& x : length + options)
      result += " " + x;
    return result + " world " + std::to_string(world_size) + " gap " + std::to_string(gap);
  }
};

std::string pipeline_of(dice& random, const std::string& end) {
  const char* const data[] = {
      R"(count(3000).shuffle(seed=5))",
      R"(count(3100).shuffle(seed=3).filter("field_hash@1", field="value", keep=80))",
      R"(count(3100).filter("key_hash@1", keep=80).shuffle_buffer(200, seed=1))",
      R"(count(2500).filter("field_hash@1", field="value", keep=90).shuffle_buffer(96, seed=2))"};
  return std::string{random.one_of(data)} + ".batch(24, lanes=24, end=\"" + end + "\")";
}

job_plan make_plan(dice& random) {
  const char* const ends[] = {"drop", "mask", "cycle"};
  const std::string end = random.one_of(ends);
  job_plan x{.pipeline = pipeline_of(random, end),
             .length = end == "cycle" ? words{"--steps", "220"} : words{"--epochs", "2"},
             .options = {"--snapshot-every", std::to_string(5 + random.below(20)), "--step-time",
                         std::to_string(2 + random.below(12))},
             .world_size = std::uint64_t{1} << random.below(4),
             .has_coordinator_apart = random.happens(75),
             .gap = random.one_of({300U, 900U, 2000U})};
  if (random.happens(25)) {
    x.is_once = true;
    x.pipeline =
        "standard_input().filter(\"key_hash@1\", keep=80).batch(24, lanes=24, end=\"mask\")";
    x.length = {"--epochs", "1"};
  }
  x.is_secured = number_in("LEAT_TEST_CERTIFICATES", random.below(2)) != 0;
  if (random.happens(50))
    x.options = x.options
                + words{"--on-rank-loss", "alone", "--run-ahead",
                        std::to_string(random.one_of({4U, 40U, 1000U}))};
  return x;
}

/// The standard input of a rank's processes, one after the other: what one has read, the next
/// lacks.
class filled_pipe {
public:
  explicit filled_pipe(const std::string& text) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0); // children inherit it
    from_ = ends[0];
    REQUIRE(text.size() <= 65'536);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
  }
  filled_pipe(const filled_pipe&) = delete;
  filled_pipe& operator=(const filled_pipe&) = delete;
  ~filled_pipe() { ::close(from_); }

  /// The redirection as shell text.
  std::string redirection() const { return "exec </proc/self/fd/" + std::to_string(from_) + ";"; }

private:
  int from_ = -1;
};

/// A job under faults, and its launcher.
class troubled_job {
public:
  troubled_job(const job_plan& plan, dice& random)
      : plan_(plan), random_(random),
        job_(plan.pipeline, plan.length, plan.world_size, plan.options), seats_(plan.world_size) {
    if (plan.is_secured) {
      job_.bench.succeed({"certs", "init", authority()});
      issue();
    }
    if (!plan.is_once)
      return;
    std::string text; // as much as a pipe takes
    for (int i = 0; i < 6000; ++i)
      text += "line " + std::to_string(i) + "\n";
    std::ofstream{job_.bench.at / "lines"} << text;
    job_.read_lines(job_.bench.at / "lines");
    for (auto& x : seats_)
      x.input = std::make_unique<filled_pipe>(text);
  }

  /// Runs to the job's end. Returns how many faults there were, at most so many.
  int run(int most_faults) {
    if (plan_.has_coordinator_apart)
      start_coordinator();
    for (std::uint64_t i = 0; i < seats_.size(); ++i) {
      seats_[i].link = std::make_unique<network_link>(0);
      later(random_.up_to(700), [this, i] { start(i); });
    }
    int faults = 0;
    auto next_fault = steady::now() + milliseconds{500};
    while (!has_ended()) {
      std::this_thread::sleep_for(milliseconds{5});
      faults_.do_what_is_due();
      look_after_coordinator();
      for (std::uint64_t i = 0; i < seats_.size(); ++i)
        look_after(i);
      if (faults < most_faults && steady::now() >= next_fault) {
        faults += make_fault() ? 1 : 0;
        next_fault = steady::now() + random_.up_to(plan_.gap);
      }
      check_progress();
    }
    end_coordinators();
    return faults;
  }

  void check() {
    CAPTURE(story());
    std::vector<std::string> digests;
    for (const auto& x : seats_)
      if (x.digest)
        digests.push_back(*x.digest);
    if (digests.size() == seats_.size())
      CHECK(sum_of(digests) == job_.whole_digest());
    job_.check_logs();
    job_.check_sets({"1", std::to_string(random_.one_of({2U, 3U, 4U, 6U, 8U, 12U, 24U}))},
                    was_full_ ? 0 : 1);
  }

private:
  struct seat {
    std::unique_ptr<network_link> link;
    std::unique_ptr<filled_pipe> input = {}; // null: none is read
    /// One, and others that were started in addition.
    std::vector<launched_program> processes = {};
    bool is_to_start = true;
    bool has_ended = false;
    std::optional<std::string> digest = {};
  };
  struct coordinator {
    std::string name;
    std::shared_ptr<other_program> process;
    bool is_known = false; // its address
  };
  void later(milliseconds delay, std::function<void()> what) {
    faults_.later(delay, std::move(what));
  }
  void tell(const std::string& what) { faults_.tell(what); }

  // -- certificates

  std::string authority() const { return job_.bench.at / "ca"; }
  void issue() const {
    job_.bench.succeed({"certs", "issue", authority(), "all", "--role", "coordinator", "--role",
                        "rank", "--host", "127.0.0.1"});
  }
  words certificate() const {
    return plan_.is_secured ? words{"--certs", authority() + "/all"} : words{};
  }

  // -- what a launcher does

  void start(std::uint64_t rank, const words& more = {}) {
    auto& x = seats_[rank];
    x.is_to_start = false;
    const auto name = std::to_string(rank) + "." + std::to_string(++num_processes_);
    const bool has_coordinator = !plan_.has_coordinator_apart && rank == 0;
    const auto options =
        plan_.has_coordinator_apart
            ? words{"--cluster", x.link->address(), "--beat", "100"} + job_.seat(rank)
            : job_.with_coordinator(rank);
    x.processes.emplace_back(name,
                             job_.launch(name, job_.log_of(rank),
                                         options + job_.journal_of(rank) + certificate() + more,
                                         (x.input ? x.input->redirection() : "")
                                             + (has_coordinator ? disk_that_fills() : "")));
    tell("process " + name + " begins");
  }

  void look_after(std::uint64_t rank) {
    auto& x = seats_[rank];
    for (const auto& [name, code] : take_ended(x.processes, faults_)) {
      CAPTURE(story(), name, code);
      REQUIRE((code == -1 || code == 0 || code == 1));
      if (code != 0)
        continue;
      x.has_ended = true;
      if (const auto digest = job_.digest_of(name))
        x.digest = digest;
    }
    if (!x.processes.empty() || x.has_ended || x.is_to_start)
      return;
    // Without a state directory, nothing records that the job is over.
    if (is_over_ && plan_.has_coordinator_apart) {
      x.has_ended = true;
      return;
    }
    x.is_to_start = true;
    later(random_.up_to(400), [this, rank] { start(rank); });
  }

  bool has_ended() const {
    return std::all_of(seats_.begin(), seats_.end(),
                       [](const seat& x) { return x.has_ended && x.processes.empty(); });
  }

  void start_coordinator() {
    const auto name = "coordinator." + std::to_string(++num_processes_);
    coordinators_.push_back(
        {name, std::make_shared<other_program>(
                   words{"/bin/sh", "-c",
                         disk_that_fills() + " LEAT_CLUSTER_TOKEN=secret exec \"$@\" 2>>'"
                             + job_.errors_of(name) + "'",
                         "sh", leat_command, "coordinator", "--state", job_.bench.at / "state",
                         "--lost-after", "3", "--lease", "5", "--bind", "127.0.0.1:0"}
                       + certificate(),
                   job_.output_of(name))});
    is_coordinator_to_start_ = false;
    tell(name + " begins");
  }

  /// Ranks join the newest coordinator, which is not always the one that printed its address last.
  void meet(coordinator& x) {
    const auto told = coordinator_in(job_.output_of(x.name), job_.errors_of(x.name));
    x.is_known = told.has_value();
    if (!told || told->number < newest_)
      return;
    newest_ = told->number;
    for (auto& one : seats_)
      one.link->lead_to(told->port);
  }

  void look_after_coordinator() {
    if (!plan_.has_coordinator_apart || is_over_)
      return;
    for (std::size_t i = 0; i < coordinators_.size();) {
      auto& x = coordinators_[i];
      if (x.process->is_running()) {
        if (!x.is_known)
          meet(x);
        ++i;
        continue;
      }
      const auto code = x.process->wait();
      tell(x.name + " has ended with " + std::to_string(code));
      CAPTURE(story(), code);
      REQUIRE((code == -1 || code == 0 || code == 1));
      if (code == 0)
        note_end();
      coordinators_.erase(coordinators_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (coordinators_.empty() && !is_over_ && !is_coordinator_to_start_) {
      is_coordinator_to_start_ = true;
      later(random_.up_to(1500), [this] { start_coordinator(); });
    }
  }

  /// A rank that could not learn of the end, because it was stopped or cut off, would wait for a
  /// coordinator.
  void note_end() {
    is_over_ = true;
    later(std::chrono::seconds{10}, [this] { kill_ranks(); });
  }

  /// A coordinator that was replaced, or whose job is over, ends by itself.
  void end_coordinators() {
    for (auto& x : coordinators_) {
      x.process->signal(SIGCONT);
      const auto code = x.process->wait();
      CAPTURE(story(), x.name);
      CHECK((code == 0 || code == 1));
    }
  }

  /// Reports if nothing happens, which is the only sign of a hang.
  void check_progress() {
    std::uintmax_t size = 0;
    for (std::uint64_t i = 0; i < seats_.size(); ++i)
      if (std::error_code problem; const auto n = fs::file_size(job_.log_of(i), problem))
        size += problem ? 0 : n;
    CAPTURE(story());
    REQUIRE(faults_.has_moved(size, std::chrono::seconds{100}));
  }

  // -- faults

  bool make_fault() {
    const auto rank = random_.below(seats_.size());
    auto& x = seats_[rank];
    const auto process = x.processes.empty() ? nullptr : x.processes.front().second;
    if (!process || (is_over_ && plan_.has_coordinator_apart))
      return false;
    if (plan_.is_secured && random_.happens(8)) {
      tell("renew certificates");
      issue();
      return true;
    }
    const auto kind = random_.below(plan_.has_coordinator_apart ? 16 : 9);
    if (kind >= 13)
      return disturb_coordinator(kind);
    if (kind >= 9) {
      disturb_link(rank, kind);
    } else if (kind == 8) {
      tell("kill all");
      kill_ranks();
      if (random_.happens(50))
        for (const auto& each : coordinators_)
          each.process->signal(SIGKILL);
    } else if (kind == 7) {
      fill_disk();
    } else if (kind == 6) {
      tell("start " + std::to_string(rank) + " twice");
      start(rank, {"--join-within", "2"});
    } else if (kind >= 4) {
      stop(std::to_string(rank), process);
    } else {
      tell("kill " + std::to_string(rank));
      process->signal(SIGKILL);
    }
    return true;
  }

  void kill_ranks() const {
    for (const auto& one : seats_)
      for (const auto& each : one.processes)
        each.second->signal(SIGKILL);
  }

  /// How long a fault lasts, once it is told.
  milliseconds a_while(const std::string& what, std::optional<milliseconds> exactly = {}) {
    auto length = random_.up_to(random_.happens(30) ? 7000 : 1500);
    length = exactly.value_or(length);
    tell(what + " for " + std::to_string(length.count()) + " ms");
    return length;
  }
  void stop(const std::string& name, const std::shared_ptr<other_program>& process) {
    stop_for(a_while("stop " + name), process, faults_);
  }
  void disturb_link(std::uint64_t rank, std::uint64_t kind) {
    auto& link = *seats_[rank].link;
    const auto* what = "cut ";
    if (kind <= 10) {
      link.cut();
    } else if (kind == 11) {
      what = "silence ";
      link.silence();
    } else {
      what = "slow down ";
      link.delay(random_.up_to(150));
    }
    const auto length = a_while(what + std::to_string(rank),
                                kind == 10 ? std::optional{milliseconds{20}} : std::nullopt);
    later(length, [&link, is_slow = kind == 12, is_lost = random_.happens(30)] {
      if (is_slow)
        link.delay(milliseconds{0});
      else if (is_lost) // what was under way is lost
        link.cut();
      link.restore();
    });
  }

  bool disturb_coordinator(std::uint64_t kind) {
    if (coordinators_.empty())
      return false;
    const auto process = coordinators_.back().process;
    if (kind == 13) {
      tell("kill the coordinator");
      process->signal(SIGKILL);
      return true;
    }
    stop("the coordinator", process);
    if (kind == 15)
      later(random_.up_to(500), [this] {
        if (!is_over_)
          start_coordinator(); // a second one
      });
    return true;
  }

  void fill_disk() {
    const auto length = random_.up_to(1500);
    tell("no space for " + std::to_string(length.count()) + " ms");
    was_full_ = true;
    std::ofstream{full()} << "";
    later(length, [this] { fs::remove(full()); });
  }
  std::string full() const { return job_.bench.at / "full"; }
  /// Environment of a process that stores sets, whose disk is full while a certain file exists.
  std::string disk_that_fills() {
    if (std::string_view{failing_calls}.empty()) // it cannot be loaded with a sanitizer's library
      return "";
    const auto call = std::string{random_.happens(70) ? "LEAT_FAIL_CALL=open LEAT_FAIL_PATH=/sets/"
                                                      : "LEAT_FAIL_CALL=fsync"};
    return call + " LEAT_FAIL_AT=1 LEAT_FAIL_TIMES=0 LEAT_FAIL_ERRNO=ENOSPC LEAT_FAIL_WHILE='"
           + full() + "' LD_PRELOAD='" + failing_calls + "'";
  }

  std::string story() const {
    auto result = plan_.text() + "\n" + faults_.text();
    for (const auto& entry : fs::directory_iterator{job_.bench.at.path()})
      if (entry.path().filename().native().starts_with("errors."))
        result += entry.path().filename().native() + ":\n" + read_file(entry.path().native());
    return result;
  }

  const job_plan& plan_;
  dice& random_;
  cluster_job job_;
  std::vector<seat> seats_;
  std::vector<coordinator> coordinators_; // in the order of their starts
  /// The number of the one that ranks join.
  std::uint64_t newest_ = 0;
  fault_story faults_;
  std::uint64_t num_processes_ = 0;
  bool is_coordinator_to_start_ = false;
  bool is_over_ = false;
  bool was_full_ = false; // the last set may not have been stored
};

TEST_CASE("random jobs under random faults hand over what one process does") {
  const auto seed = number_in("LEAT_TEST_SEED", std::random_device{}());
  const auto faults = static_cast<int>(number_in("LEAT_TEST_FAULTS", 10));
  WARN("seed " << seed << " (LEAT_TEST_SEED), faults " << faults << " (LEAT_TEST_FAULTS)");
  dice random{seed};
  for (int done = 0, i = 0; done < faults; ++i) {
    const auto plan = make_plan(random);
    CAPTURE(i, plan.text());
    troubled_job job{plan, random};
    done += job.run(std::min(faults - done, 25));
    job.check();
  }
}

} // namespace
} // namespace leat::test::cluster_faults_test
