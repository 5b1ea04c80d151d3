#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/job_coordinator.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/stop_signals.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace leat::command {

namespace {

constexpr auto name = "coordinator";
constexpr std::uint64_t day = 86'400; // seconds

struct command_options {
  coordinator_options coordinator;
  bool is_insecure = false;
  std::uint64_t lost_after = 10;
  std::uint64_t lease = 30;
  std::uint64_t rejoin_within = 600;
  std::uint64_t last_call = 10;
};

/// Lets a signal end the coordinator, if there is one.
class coordinator_stop {
public:
  void set(job_coordinator* x) {
    const mutex_lock lock{mutex_};
    coordinator_ = x;
  }
  void stop(int signal) {
    const mutex_lock lock{mutex_};
    print_notice(name, name_of_signal(signal));
    if (!coordinator_) // not started yet, or ended
      std::_Exit(exit_code_of(signal));
    coordinator_->stop();
  }

private:
  mutex mutex_;
  job_coordinator* coordinator_ LEAT_GUARDED_BY(mutex_) = nullptr;
};

coordinator_options options_of(const command_options& x) {
  auto options = x.coordinator;
  if (x.is_insecure)
    options.insecure = true;
  options.lost_after = std::chrono::seconds{x.lost_after};
  options.lease = std::chrono::seconds{x.lease};
  options.rejoin_within = std::chrono::seconds{x.rejoin_within};
  options.last_call = std::chrono::seconds{x.last_call};
  options.log = [](const std::string& line) { print_notice(name, line); };
  return options;
}

/// Returns the exit code.
int coordinate(const command_options& x) {
  coordinator_stop stop;
  // Before any other thread exists: all inherit the signal mask.
  const stop_signals signals{[&](int signal) { stop.stop(signal); }};
  job_coordinator coordinator{options_of(x)};
  if (!coordinator.has_token())
    print_notice(name, "no LEAT_CLUSTER_TOKEN: whoever can connect can take part in the job");
  print_line("LEAT_CLUSTER_ADDRESS=" + coordinator.address());
  flush_output();
  stop.set(&coordinator);
  const auto wait = [&] {
    try {
      const bool is_over = coordinator.wait();
      stop.set(nullptr);
      return is_over;
    } catch (...) {
      stop.set(nullptr);
      throw;
    }
  };
  if (wait())
    return 0;
  print_notice(name, "ended: another coordinator can go on with the state directory");
  return exit_code_of(signals.caught());
}

} // namespace

void add_coordinator(CLI::App& app, int& status) {
  auto* sub = app.add_subcommand(
      name, "Run the coordinator of a job of several processes, in a process of its own");
  auto x = std::make_shared<command_options>();
  auto& to = x->coordinator;
  sub->add_option("--state", to.state,
                  "Directory that keeps the job's state, which the next coordinator goes on with; "
                  "otherwise LEAT_CLUSTER_STATE")
      ->type_name("DIR");
  sub->add_option(
      "--bind", to.bind,
      "HOST:PORT to listen at, and to be told to ranks; port 0: the system chooses one. Otherwise "
      "LEAT_CLUSTER_ADDRESS; otherwise 127.0.0.1, or with --certs or --insecure the first address "
      "that other "
      "machines can use");
  for (const std::string gone : {"--interface", "--port"}) // options of versions before
    sub->add_option_function<std::string>(
           gone,
           [gone](const std::string& value) { refuse_argument(gone, value, "--bind HOST:PORT"); })
        ->group("");
  sub->add_option("--certs", to.certificates,
                  "Directory with certificate and key for the role coordinator (leat certs issue): "
                  "others have to show theirs; or LEAT_CLUSTER_CERTS");
  sub->add_flag("--insecure", x->is_insecure,
                "Let other machines connect without certificates: nothing is encrypted, so the "
                "network must be private; or LEAT_CLUSTER_INSECURE=1");
  sub->add_option("--job", to.job,
                  "The job's id; otherwise LEAT_CLUSTER_JOB, otherwise that of the directory");
  whole_number(sub->add_option("--keep", to.keep, "Snapshots of the whole job that stay"), 1)
      ->capture_default_str();
  const auto add_seconds = [&](const char* option, std::uint64_t& value, std::uint64_t least,
                               std::uint64_t most, const char* help) {
    whole_number(sub->add_option(option, value, help), least, most)->capture_default_str();
  };
  add_seconds("--lost-after", x->lost_after, 3, day, "A rank that is silent for S seconds is lost");
  add_seconds("--lease", x->lease, 5, day,
              "A rank goes on for S seconds without a coordinator, and its place stays its own");
  add_seconds("--rejoin-within", x->rejoin_within, 1, 7 * day,
              "Ranks that come back alone are waited for S seconds");
  add_seconds("--last-call", x->last_call, 0, day,
              "A job of any number of ranks begins S seconds after the last one has joined");
  sub->footer(
      "LEAT_CLUSTER_TOKEN is the job's secret: set it in the coordinator and in all ranks.");
  sub->callback([x, &status] { status = coordinate(*x); });
}

} // namespace leat::command
