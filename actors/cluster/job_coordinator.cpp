#include "actors/cluster/listening_coordinator.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/cluster/file_state_directory.hpp"
#include "runtime/cluster/kept_in_directory.hpp"
#include "runtime/network/process_environment.hpp"

#include <leat/job_coordinator.hpp>

#include <algorithm>

namespace leat {

namespace {

using std::chrono::seconds;

constexpr std::int64_t day = std::int64_t{24} * 3600;

void check_seconds(const char* name, seconds x, std::int64_t least, std::int64_t most) {
  if (x.count() < least || x.count() > most)
    refuse_argument(name, std::to_string(x.count()) + " s",
                    std::to_string(least) + " to " + std::to_string(most) + " s");
}

cluster_times times_of(const coordinator_options& x) {
  check_seconds("lost_after", x.lost_after, 3, day);
  check_seconds("lease", x.lease, 5, day);
  check_seconds("rejoin_within", x.rejoin_within, 1, 7 * day);
  check_seconds("last_call", x.last_call, 0, day);
  cluster_times times;
  times.lost = x.lost_after;
  times.lost_unconnected = std::min<cluster_times::time>(times.lost_unconnected, x.lost_after);
  times.lease = x.lease;
  times.rejoin_within = x.rejoin_within;
  times.last_call = x.last_call;
  return times;
}

/// The value of an option, or else of a variable; empty if neither is set.
std::string said(const std::string& option, const std::string& variable) {
  return option.empty() ? variable : option;
}

listen_wish wish_of(const coordinator_options& x, const cluster_settings& environment) {
  listen_wish wish{.address = environment.coordinator,
                   .is_insecure = x.insecure.value_or(environment.is_insecure),
                   .is_secured = !said(x.certificates, environment.certificates).empty()};
  if (!x.bind.empty())
    wish.address = {parse_address(x.bind, "bind", port_rule::any), "bind"};
  return wish;
}

} // namespace

class job_coordinator::inside {
public:
  explicit inside(const coordinator_options& x) {
    const auto environment = read_cluster_settings(variable_of_process);
    const auto state = said(x.state, environment.state_directory);
    if (state.empty())
      refuse_argument("state", "none",
                      "a directory that outlives this process: --state or LEAT_CLUSTER_STATE");
    if (x.keep == 0)
      refuse_argument("keep", "0", "at least 1");
    listening_config config;
    config.token = said(x.token, environment.token);
    config.certificates =
        certificates_in(said(x.certificates, environment.certificates), link_role::coordinator);
    config.job = said(x.job, environment.job ? environment.job->value : "");
    config.times = times_of(x);
    config.keep = x.keep;
    config.log = x.log ? x.log : [](const std::string&) {};
    config.ended = [this](coordinator_end why) { end(why); };
    config.place = choose_listen_place(wish_of(x, environment), read_machine_interfaces(), resolve);
    has_token_ = !config.token.empty();
    directory_ = std::make_shared<file_state_directory>(state);
    const auto job = config.job.empty() ? directory_->job().value_or("job") : config.job;
    const auto memory = std::make_shared<kept_in_directory>(directory_, job);
    config.memory = memory;
    config.begin_life = [&](const std::string& address) {
      const auto life = memory->begin_life(address);
      config.log("coordinator " + std::to_string(life) + " of job " + in_quotes(job)
                 + " listens at " + address + ", state in " + state);
      return life;
    };
    coordinator_.emplace(network_system::of_process(), config);
  }

  std::string address() const { return to_string(coordinator_->address()); }
  bool has_token() const noexcept { return has_token_; }

  void stop() noexcept {
    const mutex_lock lock{mutex_};
    is_stopped_ = true;
    changed_.notify_all();
  }

  bool wait() {
    const mutex_lock lock{mutex_};
    while (!end_ && !is_stopped_)
      changed_.wait(mutex_);
    if (end_ == coordinator_end::superseded)
      throw_superseded();
    if (end_ == coordinator_end::lost_directory)
      throw_file_error(errc::cluster, "cluster", directory_->name(),
                       "a state directory that was removed while the job ran",
                       "it to stay until the job is over; start the job "
                       "again: it begins at its newest stored set");
    if (end_ == coordinator_end::broken)
      throw_file_error(errc::cluster, "cluster", directory_->name(),
                       "a coordinator that cannot go on", "another one, which can: start it again");
    return end_.has_value();
  }

private:
  void end(coordinator_end why) {
    const mutex_lock lock{mutex_};
    end_ = why;
    changed_.notify_all();
  }

  [[noreturn]] void throw_superseded() {
    const auto newest = directory_->address_of_newest();
    throw_file_error(
        errc::shut_down, "cluster", directory_->name(),
        "another coordinator, which has taken over"
            + (newest ? ": number " + std::to_string(newest->life) + ", at " + newest->address
                      : std::string{}),
        "one coordinator for a job: this one has ended");
  }

  bool has_token_ = false;
  std::shared_ptr<file_state_directory> directory_;
  mutex mutex_;
  condition_variable changed_;
  std::optional<coordinator_end> end_ LEAT_GUARDED_BY(mutex_);
  bool is_stopped_ LEAT_GUARDED_BY(mutex_) = false;
  /// Last, so that it is destroyed first: it calls the other members.
  std::optional<listening_coordinator> coordinator_;
};

job_coordinator::job_coordinator(const coordinator_options& options)
    : inside_(std::make_unique<inside>(options)) {}

job_coordinator::~job_coordinator() = default;

std::string job_coordinator::address() const {
  return inside_->address();
}

bool job_coordinator::has_token() const noexcept {
  return inside_->has_token();
}

bool job_coordinator::wait() {
  return inside_->wait();
}

void job_coordinator::stop() noexcept {
  inside_->stop();
}

} // namespace leat
