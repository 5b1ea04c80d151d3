#include "runtime/network/launcher_environment.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"
#include "runtime/network/derived_port.hpp"
#include "runtime/network/host_list.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr auto cluster_stage = "cluster";
constexpr std::size_t longest_job = 256;

/// A variable that is set.
struct setting {
  std::string name;
  std::string value;
};

std::string shown(const setting& x) {
  return x.name + "=" + excerpt(x.value);
}

std::string shown(const setting& a, const setting& b) {
  return shown(a) + " and " + shown(b);
}

[[noreturn]] void refuse(const std::string& got, const std::string& needed) {
  refuse_argument(cluster_stage, got, needed);
}

std::uint64_t number_in(const setting& x,
                        std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  std::uint64_t number = 0;
  const auto* const end = x.value.data() + x.value.size();
  const auto [read, problem] = std::from_chars(x.value.data(), end, number);
  if (x.value.empty() || problem != std::errc{} || read != end || number > most)
    refuse(shown(x), "a number"
                         + (most == std::numeric_limits<std::uint64_t>::max()
                                ? std::string{}
                                : " of at most " + std::to_string(most)));
  return number;
}

class environment {
public:
  explicit environment(const variable_lookup& variable) : variable_(variable) {}

  std::optional<setting> find(const std::string& name) const {
    if (auto value = variable_(name))
      return setting{name, std::move(*value)};
    return std::nullopt;
  }

  /// A text that means something: an empty one is refused, because `X=$(cat missing)` makes it.
  std::optional<found_value<std::string>> text(const std::string& name) const {
    auto x = find(name);
    if (!x)
      return std::nullopt;
    if (x->value.empty())
      refuse(name + " is set, and empty", "a value, or a variable that is not set");
    return found_value<std::string>{std::move(x->value), name};
  }

  std::optional<found_value<std::uint64_t>> number(const std::string& name,
                                                   std::uint64_t most) const {
    const auto x = find(name);
    return x ? std::optional{found_value<std::uint64_t>{number_in(*x, most), name}} : std::nullopt;
  }

private:
  const variable_lookup& variable_;
};

// -- leat's own variables

std::optional<found_value<std::string>> job_in(const environment& from, const std::string& name) {
  auto job = from.text(name);
  const auto is_printable = [](char x) {
    return static_cast<unsigned char>(x) >= ' ' && x != 0x7f;
  };
  if (job
      && (job->value.size() > longest_job
          || !std::all_of(job->value.begin(), job->value.end(), is_printable)))
    refuse(shown({name, job->value}), "a job's id: at most " + std::to_string(longest_job)
                                          + " bytes without control characters");
  return job;
}

found_value<bool> insecure_in(const environment& from) {
  const auto x = from.find("LEAT_CLUSTER_INSECURE");
  if (!x)
    return {};
  const bool is_set = x->value == "1" || x->value == "true";
  if (!is_set && x->value != "0" && x->value != "false")
    refuse(shown(*x), "1, true, 0 or false");
  return {is_set, x->name};
}

cluster_settings own_settings(const environment& from) {
  cluster_settings x;
  if (const auto address = from.find("LEAT_CLUSTER_ADDRESS"))
    x.coordinator = {parse_address(address->value, address->name), address->name};
  x.state_directory = from.text("LEAT_CLUSTER_STATE");
  x.token = from.text("LEAT_CLUSTER_TOKEN");
  x.insecure = insecure_in(from);
  x.job = job_in(from, "LEAT_CLUSTER_JOB");
  return x;
}

// -- rank and world size

enum class launcher_kind : std::uint8_t { torchrun, open_mpi, slurm };

/// What one launcher has set.
struct launcher {
  launcher_kind kind;
  std::string name;
  std::string rank_name;
  std::string size_name;
  std::optional<setting> rank;
  std::optional<setting> size;

  bool is_whole() const { return rank && size; }
  bool is_half() const { return rank.has_value() != size.has_value(); }
};

/// In the order in which they are asked, the innermost first; the same as in python/leat/_ranks.py.
std::vector<launcher> launchers_in(const environment& from) {
  const auto read = [&](launcher_kind kind, const char* name, const char* rank, const char* size) {
    return launcher{kind, name, rank, size, from.find(rank), from.find(size)};
  };
  return {read(launcher_kind::torchrun, "torchrun", "RANK", "WORLD_SIZE"),
          read(launcher_kind::open_mpi, "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
          read(launcher_kind::slurm, "Slurm", "SLURM_PROCID", "SLURM_NTASKS")};
}

[[noreturn]] void refuse_half(const launcher& x) {
  if (x.kind == launcher_kind::slurm)
    refuse(shown(x.rank ? *x.rank : *x.size) + " without " + (x.rank ? x.size_name : x.rank_name),
           "a process that srun, mpirun or torchrun starts for each rank");
  refuse(shown(x.rank ? *x.rank : *x.size) + " without " + (x.rank ? x.size_name : x.rank_name),
         "both, or neither");
}

/// A shell of sbatch or salloc has the variables of a task, and is none: the number of tasks is
/// that of the whole allocation.
std::optional<std::string> why_no_task(const launcher& slurm, const environment& from) {
  if (slurm.kind != launcher_kind::slurm || number_in(*slurm.size) == 1)
    return std::nullopt;
  if (!from.find("SLURM_STEP_ID"))
    return shown(*slurm.rank, *slurm.size) + " without SLURM_STEP_ID: a batch script's own process";
  const auto tasks = from.find("SLURM_STEP_NUM_TASKS");
  if (tasks && number_in(*tasks) != number_in(*slurm.size))
    return shown(*slurm.size, *tasks);
  return std::nullopt;
}

/// For values of two launchers that must be the same.
void check_agreement(const std::optional<setting>& a, const std::optional<setting>& b) {
  if (a && b && number_in(*a) != number_in(*b))
    refuse(shown(*a, *b), "two that agree, or only the variables of the launcher that counts "
                          "(env -u NAME ... removes one)");
}

void check_agreement(const launcher& a, const launcher& b) {
  check_agreement(a.rank, b.rank);
  check_agreement(a.size, b.size);
}

/// RANK and WORLD_SIZE of a launcher, not of a script that exports them.
bool is_torchrun(const environment& from) {
  return from.find("TORCHELASTIC_RUN_ID") || from.find("LOCAL_RANK");
}

[[noreturn]] void refuse_nothing() {
  refuse("no launcher's variables",
         "a start by torchrun, srun or mpirun, or in each process RANK (0, 1, ...), WORLD_SIZE and "
         "LEAT_CLUSTER_ADDRESS=host:port, the coordinator's, the same in all");
}

const launcher& innermost(const std::vector<launcher>& all, const environment& from) {
  const launcher* found = nullptr;
  for (const auto& x : all)
    if (!found && x.is_whole() && !why_no_task(x, from))
      found = &x;
  if (!found) {
    for (const auto& x : all)
      if (x.is_half())
        refuse_half(x);
      else if (x.is_whole())
        refuse(*why_no_task(x, from), "a process that srun starts for each rank");
    refuse_nothing();
  }
  for (const auto& x : all) {
    const bool is_inner = x.kind < found->kind;
    const bool is_outer_of_hand_set = found->kind == launcher_kind::torchrun && !is_torchrun(from)
                                      && x.is_whole() && !why_no_task(x, from);
    if ((is_inner && x.is_half()) || is_outer_of_hand_set)
      check_agreement(*found, x);
  }
  return *found;
}

const char* local_rank_name(launcher_kind kind) {
  switch (kind) {
  case launcher_kind::torchrun:
    return "LOCAL_RANK";
  case launcher_kind::open_mpi:
    return "OMPI_COMM_WORLD_LOCAL_RANK";
  case launcher_kind::slurm:
    return "SLURM_LOCALID";
  }
  return "";
}

void add_place(launcher_facts& to, const launcher& from) {
  to.world_size = number_in(*from.size, max_world_size);
  if (to.world_size == 0)
    refuse(shown(*from.size), "at least 1");
  to.rank = number_in(*from.rank);
  if (to.rank >= to.world_size)
    refuse(shown(*from.rank, *from.size), "a rank below the world size");
  to.source = from.name + " (" + from.rank_name + ", " + from.size_name + ")";
}

// -- coordinator and job

std::optional<found_value<network_address>> of_torch(const environment& from) {
  const auto host = from.find("MASTER_ADDR");
  const auto port = from.find("MASTER_PORT");
  if (!host && !port)
    return std::nullopt;
  if (!host || !port)
    refuse(shown(host ? *host : *port) + " without " + (host ? "MASTER_PORT" : "MASTER_ADDR"),
           "both, or LEAT_CLUSTER_ADDRESS=host:port");
  return found_value<network_address>{
      {parse_host(host->value, host->name), port_beside(parse_port(port->value, port->name))},
      "MASTER_ADDR, MASTER_PORT"};
}

std::optional<found_value<network_address>> of_slurm(const environment& from, launcher_kind kind) {
  const auto job = from.find("SLURM_JOB_ID");
  const bool has_step = kind != launcher_kind::open_mpi;
  auto nodes = has_step ? from.find("SLURM_STEP_NODELIST") : std::nullopt;
  if (!nodes)
    nodes = from.find("SLURM_JOB_NODELIST");
  if (!job || !nodes)
    return std::nullopt;
  const auto step = has_step ? from.find("SLURM_STEP_ID") : std::nullopt;
  return found_value<network_address>{
      {parse_host(first_host(nodes->value, nodes->name), nodes->name),
       port_of_slurm(number_in(*job), step ? number_in(*step) : 0)},
      nodes->name + ", " + job->name + (step ? ", " + step->name : "")};
}

std::optional<found_value<network_address>> launchers_address(const environment& from,
                                                              launcher_kind kind) {
  // srun knows where its task 0 is; the others are told by MASTER_ADDR where rank 0 is.
  auto found = kind == launcher_kind::slurm ? of_slurm(from, kind) : of_torch(from);
  if (!found && kind != launcher_kind::slurm)
    found = of_slurm(from, kind);
  return found;
}

std::optional<found_value<std::string>> launchers_job(const environment& from, launcher_kind kind) {
  if (kind == launcher_kind::torchrun)
    if (auto run = job_in(from, "TORCHELASTIC_RUN_ID"); run && run->value != "none")
      return run;
  if (kind == launcher_kind::open_mpi)
    if (auto space = job_in(from, "PMIX_NAMESPACE"))
      return space;
  return job_in(from, "SLURM_JOB_ID");
}

} // namespace

cluster_settings read_cluster_settings(const variable_lookup& variable) {
  return own_settings(environment{variable});
}

launcher_facts read_launcher_facts(const variable_lookup& variable) {
  const environment from{variable};
  const auto all = launchers_in(from);
  const auto& chosen = innermost(all, from);
  launcher_facts x;
  add_place(x, chosen);
  x.local_rank = from.number(local_rank_name(chosen.kind), x.world_size - 1);
  if (chosen.kind == launcher_kind::torchrun)
    x.restart_count = from.number("TORCHELASTIC_RESTART_COUNT", UINT32_MAX);
  x.cluster = own_settings(from);
  if (!x.cluster.coordinator)
    x.cluster.coordinator = launchers_address(from, chosen.kind);
  if (!x.cluster.job)
    x.cluster.job = launchers_job(from, chosen.kind);
  return x;
}

const network_address& coordinator_of(const cluster_settings& settings) {
  if (!settings.coordinator)
    refuse("no address of the coordinator",
           "LEAT_CLUSTER_ADDRESS=host:port in each process: the host of rank 0, and a free port");
  return settings.coordinator->value;
}

std::string to_string(const launcher_facts& x) {
  auto text = "rank " + std::to_string(x.rank) + " of " + std::to_string(x.world_size) + " from "
              + x.source;
  const auto add = [&](const char* name, const std::string& value, const std::string& source) {
    text.append(", ").append(name).append(" ").append(value).append(" from ").append(source);
  };
  if (const auto& found = x.cluster.coordinator)
    add("coordinator", to_string(found->value), found->source);
  if (const auto& found = x.cluster.job)
    add("job", found->value, found->source);
  if (const auto& found = x.cluster.state_directory)
    add("state in", in_quotes(found->value), found->source);
  if (x.restart_count && x.restart_count->value > 0)
    add("restart", std::to_string(x.restart_count->value), x.restart_count->source);
  return text;
}

} // namespace leat
