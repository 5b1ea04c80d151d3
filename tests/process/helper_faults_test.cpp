#include "tests/support/command.hpp"
#include "tests/support/helper_network.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random_faults.hpp"
#include "tests/support/sanitized.hpp"

#include <signal.h>

// Random jobs whose helpers are killed, stopped, slowed down to a twentieth, cut off and restored
// at random, and whose trainer stands still at times. The job's log, with the pixels, must be that
// of a job alone, and no process may need more memory than it has a use for. Each process has a
// network stack of its own where this test may make them (as root, or by `unshare -Urnm`, see
// tests/faults).
//
// LEAT_TEST_FAULTS:       how many faults, over as many jobs as that takes (12).
// LEAT_TEST_SEED:         seed of everything that is random here; times depend on the machine.
// LEAT_TEST_CERTIFICATES: 1: all processes have certificates, 0: none has; otherwise some have.
// LEAT_TEST_NETWORK:      loopback: all processes have the one of this machine.
namespace leat::test::helper_faults_test {
namespace {

using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

struct job_plan {
  words job;
  std::size_t helpers;
  bool is_secured;
  /// At most so many milliseconds are between two faults.
  unsigned gap;

  std::string text() const {
    std::string result = std::to_string(helpers) + " helpers with"
                         + (is_secured ? " certificates" : "out certificates");
    for (const auto& x : job)
      result += " " + x;
    return result + " gap " + std::to_string(gap);
  }
};

/// Files that all jobs read.
class shared_data : public command_bench {
public:
  shared_data() {
    make_photos(at / "photos", 60, 2);
    for (int file = 0; file < 4; ++file) {
      std::ofstream lines{at / ("lines" + std::to_string(file) + ".txt")};
      for (int i = 0; i < 1000; ++i)
        lines << "line " << i << '\n';
    }
    succeed({"certs", "init", at / "ca"});
    succeed({"certs", "issue", at / "ca", "all", "--role", "rank", "--role", "worker", "--host",
             "127.0.0.1", "--host", small_network::address(1)});
  }

  words random_job(dice& random) const {
    const std::string batches = ".batch(12, lanes=4, end=\"mask\")";
    const std::string texts[] = {
        R"(count(3000).shuffle(seed=5).filter("field_hash@1", field="value", keep=80))" + batches,
        R"(count(3100).filter("key_hash@1", keep=80).shuffle_buffer(200, seed=1))" + batches,
        R"(lines("DIR/lines?.txt").shuffle_buffer(64, seed=2))" + batches};
    const auto step_time = words{"--step-time", std::to_string(random.one_of({0U, 5U, 40U}))};
    if (random.happens(60))
      return words{at / "photos/*.tar", "--global-batch", "6", "--epochs", sanitized ? "2" : "8"}
             + step_time;
    return pipeline(random.one_of(texts)) + words{"--epochs", "3"} + step_time;
  }

  job_plan random_plan(dice& random) const {
    return {.job = random_job(random),
            .helpers = random.below(7),
            .is_secured = number_in("LEAT_TEST_CERTIFICATES", random.below(2)) != 0,
            .gap = random.one_of({100U, 300U, 900U})};
  }

  words certificate(const job_plan& plan) const {
    return plan.is_secured ? words{"--certs", at / "ca/all"} : words{};
  }
};

/// The most memory that the process had, in KiB; 0 if it has ended.
std::uint64_t peak_of(pid_t process) {
  const auto status = read_file("/proc/" + std::to_string(process) + "/status");
  const std::string before = "VmHWM:";
  const auto at = status.find(before);
  return at == status.npos ? 0 : std::stoull(status.substr(at + before.size()));
}

class troubled_job {
public:
  troubled_job(const shared_data& data, const job_plan& plan, dice& random)
      : data_(data), plan_(plan), random_(random), network_(network_for(plan.helpers)),
        job_(in_shell(network_->trainer(),
                      words{"run", "--workers", "1", "--workers-at",
                            network_->trainer_host() + ":0", "--json", "--log", log()}
                          + plan.job + data.certificate(plan),
                      "errors"),
             data.at / "summary"),
        helpers_(plan.helpers) {
    std::filesystem::remove(log());
    port_ = port_of_job();
    for (std::size_t i = 0; i < helpers_.size(); ++i)
      start(i);
  }
  ~troubled_job() { end_helpers(); }
  troubled_job(const troubled_job&) = delete;
  troubled_job& operator=(const troubled_job&) = delete;

  /// Runs to the job's end. Returns how many faults there were, at most so many.
  int run(int most_faults) {
    int faults = 0;
    auto next_fault = steady::now() + random_.up_to(plan_.gap);
    while (job_.is_running()) {
      std::this_thread::sleep_for(milliseconds{5});
      faults_.do_what_is_due();
      look_after_memory();
      if (faults < most_faults && steady::now() >= next_fault) {
        make_fault();
        ++faults;
        next_fault = steady::now() + random_.up_to(plan_.gap);
      }
      CAPTURE(story());
      std::error_code problem;
      const auto size = std::filesystem::file_size(log(), problem);
      REQUIRE(faults_.has_moved(problem ? 0 : size, std::chrono::seconds{60}));
    }
    CAPTURE(story());
    REQUIRE(job_.wait() == 0);
    return faults;
  }

  void check() const {
    CAPTURE(story());
    const auto alone = data_.at / "alone";
    std::filesystem::remove(alone);
    const auto expected = data_.ask(words{"run", "--workers", "1", "--log", alone} + plan_.job);
    const auto summary = json_lines(read_file(data_.at / "summary")).at(0);
    CHECK(summary["digest"] == expected["digest"]);
    check_same_batches(batches_of(alone), batches_of(log()));
    const auto& helped = summary["helpers"];
    CHECK(helped["rows_lent"] >= helped["rows_received"]);
    if (plan_.helpers == 0)
      CHECK(helped["rows_lent"] == 0);
    if (sanitized) // they need more, to remember what was freed
      return;
    const auto most_alone = expected["resident_bytes"].get<std::uint64_t>() / 1024;
    CAPTURE(most_alone);
    CHECK(most_of_rank_ <= most_alone + kib_of_rank + plan_.helpers * kib_of_link);
    CHECK(most_of_helper_ <= most_alone + kib_of_helper);
  }

private:
  // What a process may need beside the memory of the same job alone: sockets' windows on both
  // sides, the rows that are lent, and TLS.
  static constexpr std::uint64_t kib_of_rank = 32 << 10;
  static constexpr std::uint64_t kib_of_link = 12 << 10;
  static constexpr std::uint64_t kib_of_helper = 64 << 10;

  using helper = std::shared_ptr<other_program>;

  std::string log() const { return data_.at / "helped"; }
  /// `within`: a command that runs another one.
  words in_shell(const words& within, const words& arguments, const std::string& errors) const {
    return words{"/bin/sh", "-c",
                 "LEAT_CLUSTER_INSECURE=1 exec \"$@\" 2>'" + (data_.at / errors) + "'", "sh"}
           + within + words{leat_command} + arguments;
  }
  /// Before their network does. Signals that are still to come would keep them.
  void end_helpers() {
    for (auto& x : helpers_)
      if (x)
        x->kill();
  }

  std::uint16_t port_of_job() const {
    const auto before = "helpers join at " + network_->trainer_host() + ":";
    while (job_.is_running()) {
      const auto text = read_file(data_.at / "errors");
      const auto at = text.find(before);
      if (at != text.npos && text.find('\n', at) != text.npos)
        return static_cast<std::uint16_t>(std::stoul(text.substr(at + before.size())));
      std::this_thread::sleep_for(milliseconds{1});
    }
    FAIL(read_file(data_.at / "errors"));
    return 0;
  }

  /// Some have the data, and others are sent the records.
  void start(std::size_t i) {
    auto& x = helpers_[i];
    if (x)
      x->kill(); // signals that are still to come would keep it
    words arguments{"worker", "--join", network_->trainer_for(i, port_), "--cores", "1"};
    if (random_.happens(50))
      arguments = arguments + words{"--data", data_.at.path()};
    const auto name = "helper." + std::to_string(i);
    x = std::make_shared<other_program>(
        in_shell(network_->helper(i), arguments + data_.certificate(plan_), name + ".errors"),
        data_.at / name);
  }

  void make_fault() {
    if (helpers_.empty() || random_.happens(8))
      return stop("the trainer", [this](int x) { job_.signal(x); });
    const auto i = random_.below(helpers_.size());
    const auto name = "helper " + std::to_string(i);
    const auto tell_it = [process = helpers_[i]](int signal) { process->signal(signal); };
    switch (random_.below(8)) {
    case 0:
    case 1:
      faults_.tell("kill " + name);
      start(i);
      break;
    case 2:
      stop(name, tell_it);
      break;
    case 3:
      slow_down(name, tell_it);
      break;
    case 4:
      faults_.tell("kill all helpers");
      for (std::size_t one = 0; one < helpers_.size(); ++one)
        start(one);
      break;
    default:
      disturb(i, name);
    }
  }

  milliseconds a_while(const std::string& what) {
    const auto length = random_.up_to(random_.happens(30) ? 4000 : 800);
    faults_.tell(what + " for " + std::to_string(length.count()) + " ms");
    return length;
  }
  template <class Signal>
  void stop(const std::string& name, Signal signal) {
    const auto length = a_while("stop " + name);
    signal(SIGSTOP);
    faults_.later(length, [signal] { signal(SIGCONT); });
  }
  /// It runs for 5 of 100 ms: 20 times as slow.
  template <class Signal>
  void slow_down(const std::string& name, Signal signal) {
    const auto length = a_while("slow down " + name);
    for (milliseconds at{0}; at < length; at += milliseconds{100}) {
      faults_.later(at, [signal] { signal(SIGSTOP); });
      faults_.later(at + milliseconds{95}, [signal] { signal(SIGCONT); });
    }
  }
  void disturb(std::size_t i, const std::string& name) {
    const auto kind = random_.below(3);
    if (kind == 0)
      network_->cut(i, helpers_[i]->pid());
    else if (kind == 1)
      network_->silence(i);
    else
      network_->delay(i, random_.up_to(200));
    const char* const names[] = {"cut off ", "silence ", "delay "};
    const auto length = a_while(names[kind] + name);
    faults_.later(length, [this, i, is_lost = random_.happens(30)] {
      network_->restore(i, helpers_[i]->pid(), is_lost);
    });
  }

  void look_after_memory() {
    most_of_rank_ = std::max(most_of_rank_, peak_of(job_.pid()));
    for (const auto& x : helpers_)
      most_of_helper_ = std::max(most_of_helper_, peak_of(x->pid()));
  }

  static void check_same_batches(const std::vector<logged_batch>& alone,
                                 const std::vector<logged_batch>& helped) {
    REQUIRE(helped.size() == alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      CAPTURE(i);
      REQUIRE(helped[i].epoch == alone[i].epoch);
      REQUIRE(helped[i].step == alone[i].step);
      REQUIRE(helped[i].rows == alone[i].rows);
      REQUIRE(helped[i].bad == alone[i].bad);
    }
  }

  std::string story() const {
    return plan_.text() + ", " + network_->name() + "\n" + faults_.text() + "KiB at most: rank "
           + std::to_string(most_of_rank_) + ", helper " + std::to_string(most_of_helper_)
           + "\nerrors of the job:\n" + read_file(data_.at / "errors");
  }

  const shared_data& data_;
  const job_plan& plan_;
  dice& random_;
  fault_story faults_;
  std::unique_ptr<helper_network> network_;
  other_program job_;
  std::uint16_t port_ = 0;
  std::vector<helper> helpers_;
  std::uint64_t most_of_rank_ = 0;
  std::uint64_t most_of_helper_ = 0;
};

TEST_CASE("random jobs under random faults of their helpers hand over what a job alone does") {
  const auto seed = number_in("LEAT_TEST_SEED", std::random_device{}());
  const auto faults = static_cast<int>(number_in("LEAT_TEST_FAULTS", 12));
  WARN("seed " << seed << " (LEAT_TEST_SEED), faults " << faults << " (LEAT_TEST_FAULTS), over "
               << network_for(1)->name());
  dice random{seed};
  const shared_data data;
  for (int done = 0, i = 0; done < faults; ++i) {
    const auto plan = data.random_plan(random);
    CAPTURE(i, plan.text());
    troubled_job job{data, plan, random};
    done += job.run(std::min(faults - done, 25));
    job.check();
  }
}

} // namespace
} // namespace leat::test::helper_faults_test
