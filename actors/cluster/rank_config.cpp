#include "actors/cluster/rank_config.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/cluster/file_state_directory.hpp"
#include "runtime/cluster/job_hello.hpp"
#include "runtime/cluster/kept_in_directory.hpp"
#include "runtime/cluster/processes.hpp"
#include "runtime/network/listen_place.hpp"
#include "runtime/network/process_environment.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <filesystem>
#include <span>

namespace leat {

namespace {

using namespace std::chrono_literals;

constexpr auto shortest_beat = 10ms;
constexpr auto longest_beat = 60s;

/// Takes over an option; one that still has its default was not set.
void take_over(const char* name, std::uint64_t& option, std::uint64_t unsaid,
               const std::optional<std::uint64_t>& said) {
  if (!said)
    return;
  if (option != unsaid && option != *said)
    refuse_argument(std::string{"loader."} + name,
                    std::to_string(option) + ", and " + std::to_string(*said) + " of its cluster",
                    "one of the two");
  option = *said;
}

job_rules rules_of(const loader_options& x) {
  const auto& of = *x.cluster;
  return {.world_size = of.is_elastic() ? 0 : x.world_size,
          .least_ranks = of.is_elastic() ? of.least_ranks : x.world_size,
          .most_ranks = of.is_elastic() ? of.most_ranks : x.world_size,
          .comes_back_alone = of.on_rank_loss == rank_loss::alone,
          .run_ahead = of.run_ahead};
}

cluster_times times_of(const cluster& x) {
  const cluster_times::time beat = x.beat;
  return {.beat = beat,
          .lost = 10 * beat,
          .lost_unconnected = 3 * beat,
          .lease = 30 * beat,
          .last_call = 10 * beat,
          .linger = 10 * beat};
}

cluster_hello full_hello(const loader_options& x, const rank_job& job) {
  const auto& of = *x.cluster;
  auto hello = hello_for(job);
  hello.token = of.token;
  hello.job = of.job;
  if (!of.is_elastic())
    hello.rank = x.rank;
  hello.rules = rules_of(x);
  hello.beat_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds{of.beat}.count());
  return hello;
}

/// The id of a job that nobody has named: another pipeline, or another length, is another job.
std::string own_name_of(const cluster_hello& x) {
  auto text = x.pipeline;
  for (const auto& [name, value] : comparable(x))
    text += '\n' + name + '=' + value;
  return "job-" + to_string(xxh3_128(std::as_bytes(std::span{text}))).substr(0, 16);
}

listen_wish wish_of(const cluster& x) {
  listen_wish wish{.is_insecure = x.insecure, .is_secured = !x.certificates.empty()};
  if (!x.address.empty())
    wish.address = {parse_address(x.address, "cluster.address", port_rule::any), "cluster.address"};
  return wish;
}

listening_config own_coordinator(const loader_options& x, const cluster_hello& hello) {
  const auto& of = *x.cluster;
  const auto name = of.job.empty() ? own_name_of(hello) : of.job;
  const auto memory = std::make_shared<kept_in_directory>(
      std::make_shared<file_state_directory>(of.state_directory), name);
  const auto log = [](const std::string& line) { notice("cluster: " + line); };
  return {.place = choose_listen_place(wish_of(of), read_machine_interfaces(), resolve),
          .memory = memory,
          .begin_life =
              [memory, log](const std::string& address) {
                const auto life = memory->begin_life(address);
                log("coordinator " + std::to_string(life) + " listens at " + address);
                return life;
              },
          .token = of.token,
          .job = of.job,
          .times = times_of(of),
          .keep = x.keep,
          .log = log};
}

/// Finds the coordinator where the newest one says that it is, or else where the option says.
std::function<network_address()> finder_of(const cluster& x) {
  std::shared_ptr<state_directory> directory;
  if (!x.state_directory.empty())
    directory = std::make_shared<file_state_directory>(x.state_directory);
  network_address address;
  if (!x.address.empty())
    address = parse_address(x.address, "cluster.address", port_rule::any);
  return [directory, address] {
    try {
      if (const auto newest =
              directory ? directory->address_of_newest() : std::optional<coordinator_place>{})
        return parse_address(newest->address, directory->name());
    } catch (const error&) { // not there yet, or not shared
      return address;
    }
    return address;
  };
}

/// Finds out from the state directory whether the job has ended: the coordinator may have ended
/// with rank 0.
std::function<bool()> end_finder_of(const cluster& x, const cluster_hello& hello) {
  if (x.state_directory.empty())
    return {};
  const auto directory = std::make_shared<file_state_directory>(x.state_directory);
  // A separate coordinator without a job id takes the directory's.
  const bool has_any_name = x.job.empty() && x.is_elastic() && !x.rank;
  const auto name = x.job.empty() ? own_name_of(hello) : x.job;
  return [directory, has_any_name, name] {
    try {
      return is_over(*directory, has_any_name ? directory->job().value_or(name) : name);
    } catch (const error&) { // not there yet, or not shared
      return false;
    }
  };
}

cluster cluster_from(const cluster_settings& said) {
  cluster x;
  if (said.coordinator)
    x.address = to_string(said.coordinator->value);
  x.state_directory = said.state_directory;
  x.token = said.token;
  if (said.job)
    x.job = said.job->value;
  x.certificates = said.certificates;
  x.insecure = said.is_insecure;
  x.workers_at = said.workers_at;
  return x;
}

/// Equal for all loaders that look for the same coordinator.
std::string name_of_coordinator(const cluster& x) {
  if (x.state_directory.empty())
    return x.address;
  return std::filesystem::absolute(x.state_directory).lexically_normal().string();
}

bool runs_coordinator(const loader_options& x) {
  const auto& of = *x.cluster;
  return of.runs_coordinator.value_or(!of.state_directory.empty() && of.rank.value_or(x.rank) == 0
                                      && (of.rank || !of.is_elastic()));
}

} // namespace

cluster cluster::from_env() {
  const auto facts = read_launcher_facts(variable_of_process);
  notice("cluster: " + to_string(facts));
  auto x = cluster_from(facts.cluster);
  x.rank = facts.rank;
  x.world_size = facts.world_size;
  return x;
}

cluster cluster::from_leat_env() {
  return cluster_from(read_cluster_settings(variable_of_process));
}

void set_ranks(loader_options& x) {
  const auto& of = *x.cluster;
  if (of.address.empty() && of.state_directory.empty())
    refuse_argument("cluster.address", "none, and no state directory",
                    "host:port of the coordinator (LEAT_CLUSTER_ADDRESS), or a state directory "
                    "that all hosts share (LEAT_CLUSTER_STATE)");
  if (of.runs_coordinator.value_or(false) && of.state_directory.empty())
    refuse_argument("cluster.state_directory", "none, for a process that runs the coordinator",
                    "a directory that outlives it");
  if (of.beat < shortest_beat || of.beat > longest_beat)
    refuse_argument("cluster.beat", std::to_string(of.beat.count()) + " ms", "10 ms to 60 s");
  if (!of.address.empty()) {
    const auto address = parse_address(of.address, "cluster.address", port_rule::any);
    if (of.certificates.empty() && !of.insecure && !is_loopback(address))
      refuse_argument("cluster.address", of.address + ", which other machines can reach",
                      "`certificates` (leat certs, LEAT_CLUSTER_CERTS); `insecure` "
                      "(LEAT_CLUSTER_INSECURE=1), if the network is private: nothing is encrypted; "
                      "or an address of loopback");
  }
  if (x.workers_at.empty())
    x.workers_at = of.workers_at;
  if (!x.workers_at.empty() && !x.helpers)
    x.helpers = {of.certificates, of.token, of.insecure};
  if (of.is_elastic()) {
    if (of.least_ranks == 0 || of.least_ranks > of.most_ranks)
      refuse_argument("cluster.least_ranks",
                      std::to_string(of.least_ranks) + " to " + std::to_string(of.most_ranks),
                      "at least 1, and at most most_ranks");
    x.rank = 0; // until there is a seat
    x.world_size = 1;
    return;
  }
  take_over("world_size", x.world_size, 1, of.world_size);
  take_over("rank", x.rank, 0, of.rank);
}

cluster_rank_config config_for(const loader_options& x, const rank_job& job) {
  cluster_rank_config config{.hello = full_hello(x, job),
                             .times = times_of(*x.cluster),
                             .coordinator = finder_of(*x.cluster),
                             .coordinator_name = name_of_coordinator(*x.cluster),
                             .join_within = x.cluster->join_within,
                             .coordinator_lost_after = x.cluster->coordinator_lost_after};
  config.is_over = end_finder_of(*x.cluster, config.hello);
  link_roles roles = link_role::rank;
  if (runs_coordinator(x)) {
    config.own_coordinator = own_coordinator(x, config.hello);
    roles.add(link_role::coordinator);
  }
  config.certificates = certificates_in(x.cluster->certificates, roles);
  if (config.own_coordinator)
    config.own_coordinator->certificates = config.certificates;
  return config;
}

} // namespace leat
