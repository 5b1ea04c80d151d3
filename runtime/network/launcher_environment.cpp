#include "runtime/network/launcher_environment.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/text.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::size_t longest_job = 256;

/// A variable that is set.
struct setting {
  std::string name;
  std::string value;
};

using found_setting = std::optional<setting>;
using found_text = std::optional<found_value<std::string>>;
using found_address = std::optional<found_value<network_address>>;

std::string shown(const setting& x) {
  return x.name + "=" + excerpt(x.value);
}

std::string shown(const setting& a, const setting& b) {
  return shown(a) + " and " + shown(b);
}

[[noreturn]] void refuse(const std::string& got, const std::string& needed) {
  refuse_argument("cluster", got, needed);
}

std::uint64_t number_in(const setting& x,
                        std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  std::uint64_t number = 0;
  const auto* const end = x.value.data() + x.value.size();
  const auto [read, problem] = std::from_chars(x.value.data(), end, number);
  if (x.value.empty() || problem != std::errc{} || read != end || number > most)
    refuse(shown(x), "a number of at most " + std::to_string(most));
  return number;
}

found_setting find(const variable_lookup& in, const char* name) {
  auto value = in(name);
  return value ? found_setting{{name, std::move(*value)}} : std::nullopt;
}

/// The text of a variable. An empty one is refused: it is what `X=$(cat missing)` gives.
found_text text_in(const variable_lookup& in, const char* name) {
  auto x = find(in, name);
  if (!x)
    return std::nullopt;
  if (x->value.empty())
    refuse(x->name + " is set, and empty", "a value, or a variable that is not set");
  return found_value<std::string>{std::move(x->value), name};
}

// -- leat's own variables

std::string text_or_nothing(const variable_lookup& in, const char* name) {
  auto x = text_in(in, name);
  return x ? std::move(x->value) : std::string{};
}

found_text job_in(const variable_lookup& in, const char* name) {
  auto job = text_in(in, name);
  const auto is_control = [](char x) { return static_cast<unsigned char>(x) < ' ' || x == 0x7f; };
  if (job
      && (job->value.size() > longest_job
          || std::any_of(job->value.begin(), job->value.end(), is_control)))
    refuse(shown({name, job->value}), "a job's id: at most " + std::to_string(longest_job)
                                          + " bytes without control characters");
  return job;
}

bool is_insecure(const variable_lookup& in) {
  const auto x = find(in, "LEAT_CLUSTER_INSECURE");
  if (!x || x->value == "0" || x->value == "false")
    return false;
  if (x->value != "1" && x->value != "true")
    refuse(shown(*x), "1, true, 0 or false");
  return true;
}

// -- rank and world size

enum class launcher_kind : std::uint8_t { torchrun, open_mpi, slurm };

/// What one launcher has set.
struct launcher {
  launcher_kind kind;
  const char* rank_name;
  const char* size_name;
  /// "torchrun (RANK, WORLD_SIZE)"
  std::string source;
  found_setting rank;
  found_setting size;
};

/// In the order in which they are asked, the innermost first; the same as in python/leat/_ranks.py.
std::vector<launcher> launchers_in(const variable_lookup& in) {
  const auto read = [&](launcher_kind kind, const std::string& name, const char* rank,
                        const char* size) {
    return launcher{kind,           rank,          size, name + " (" + rank + ", " + size + ")",
                    find(in, rank), find(in, size)};
  };
  return {read(launcher_kind::torchrun, "torchrun", "RANK", "WORLD_SIZE"),
          read(launcher_kind::open_mpi, "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
          read(launcher_kind::slurm, "Slurm", "SLURM_PROCID", "SLURM_NTASKS")};
}

/// Why this process is not a rank of the launcher's; empty: it is one, or the launcher has set
/// nothing.
std::string why_no_rank(const launcher& x, const variable_lookup& in) {
  if (x.rank.has_value() != x.size.has_value())
    return shown(x.rank ? *x.rank : *x.size) + " without " + (x.rank ? x.size_name : x.rank_name);
  if (!x.rank || x.kind != launcher_kind::slurm || number_in(*x.size) == 1)
    return {};
  // A shell of sbatch or salloc has a task's variables too, with the allocation's number of tasks.
  if (!in("SLURM_STEP_ID"))
    return shown(*x.rank, *x.size) + " without SLURM_STEP_ID: a batch script's own process";
  const auto tasks = find(in, "SLURM_STEP_NUM_TASKS");
  return tasks && number_in(*tasks) != number_in(*x.size) ? shown(*x.size, *tasks) : "";
}

void check_agreement(const setting& a, const setting& b) {
  if (number_in(a) != number_in(b))
    refuse(shown(a, b), "two that agree, or only the variables of the launcher that counts "
                        "(env -u NAME ... removes one)");
}

launcher innermost(const variable_lookup& in) {
  std::optional<launcher> found;
  std::string why;
  for (auto& x : launchers_in(in)) {
    const auto why_not = why_no_rank(x, in);
    if (why.empty())
      why = why_not;
    if (!x.rank || !why_not.empty())
      continue;
    if (!found) {
      found = std::move(x);
    } else if (found->kind == launcher_kind::torchrun && !in("TORCHELASTIC_RUN_ID")
               && !in("LOCAL_RANK")) { // a script that exports them, for all ranks alike
      check_agreement(*found->rank, *x.rank);
      check_agreement(*found->size, *x.size);
    }
  }
  if (!found)
    refuse(why.empty() ? "no launcher's variables" : why,
           "a start by torchrun, srun or mpirun, or in each process RANK (0, 1, ...), WORLD_SIZE "
           "and LEAT_CLUSTER_ADDRESS=host:port, the coordinator's, the same in all");
  return *std::move(found);
}

launcher_facts place_in(const launcher& from) {
  launcher_facts x{.rank = number_in(*from.rank),
                   .world_size = number_in(*from.size, max_world_size),
                   .source = from.source};
  if (x.rank >= x.world_size)
    refuse(shown(*from.rank, *from.size), "a rank below the world size");
  return x;
}

// -- coordinator and job

found_address address_of_torch(const variable_lookup& in) {
  const auto host = find(in, "MASTER_ADDR");
  const auto port = find(in, "MASTER_PORT");
  if (!host && !port)
    return std::nullopt;
  if (!host || !port)
    refuse(shown(host ? *host : *port) + " without " + (host ? "MASTER_PORT" : "MASTER_ADDR"),
           "both, or LEAT_CLUSTER_ADDRESS=host:port");
  const int torchs = parse_port(port->value, port->name);
  const auto own = static_cast<std::uint16_t>(torchs < 32768 ? torchs + 32768 : torchs - 28232);
  return found_value<network_address>{{parse_host(host->value, host->name), own},
                                      "MASTER_ADDR, MASTER_PORT"};
}

/// The first host of Slurm's list: "node[01-03,7]-ib,other5" begins with "node01-ib".
std::string first_host(const setting& list) {
  std::string host;
  std::string_view rest = list.value;
  while (!rest.empty() && rest[0] != ',') {
    if (rest[0] != '[') {
      host += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const auto digits = rest.substr(1, rest.find_first_not_of("0123456789", 1) - 1);
    const auto end = rest.find(']');
    if (digits.empty() || end == std::string_view::npos)
      refuse(shown(list), "a list of hosts as Slurm writes it: node[01-03,7],other5");
    host += digits;
    rest.remove_prefix(end + 1);
  }
  return parse_host(host, list.name);
}

found_address address_of_slurm(const variable_lookup& in, launcher_kind kind) {
  const auto job = find(in, "SLURM_JOB_ID");
  const bool has_step = kind != launcher_kind::open_mpi;
  const auto step = has_step ? find(in, "SLURM_STEP_ID") : std::nullopt;
  auto nodes = has_step ? find(in, "SLURM_STEP_NODELIST") : std::nullopt;
  if (!nodes)
    nodes = find(in, "SLURM_JOB_NODELIST");
  if (!job || !nodes)
    return std::nullopt;
  const auto port = 10000 + (number_in(*job) + 4099 * (step ? number_in(*step) : 0)) % 16384;
  return found_value<network_address>{{first_host(*nodes), static_cast<std::uint16_t>(port)},
                                      nodes->name + ", " + job->name
                                          + (step ? ", " + step->name : "")};
}

found_address launchers_address(const variable_lookup& in, launcher_kind kind) {
  // srun knows where its task 0 is; other launchers say in MASTER_ADDR where rank 0 is.
  if (kind != launcher_kind::slurm)
    if (auto found = address_of_torch(in))
      return found;
  return address_of_slurm(in, kind);
}

found_text launchers_job(const variable_lookup& in, launcher_kind kind) {
  if (kind == launcher_kind::torchrun)
    if (auto run = job_in(in, "TORCHELASTIC_RUN_ID"); run && run->value != "none")
      return run;
  if (kind == launcher_kind::open_mpi)
    if (auto space = job_in(in, "PMIX_NAMESPACE"))
      return space;
  return job_in(in, "SLURM_JOB_ID");
}

} // namespace

cluster_settings read_cluster_settings(const variable_lookup& variable) {
  cluster_settings x;
  if (const auto address = find(variable, "LEAT_CLUSTER_ADDRESS"))
    x.coordinator = {parse_address(address->value, address->name), address->name};
  x.state_directory = text_or_nothing(variable, "LEAT_CLUSTER_STATE");
  x.token = text_or_nothing(variable, "LEAT_CLUSTER_TOKEN");
  x.certificates = text_or_nothing(variable, "LEAT_CLUSTER_CERTS");
  x.is_insecure = is_insecure(variable);
  x.workers_at = text_or_nothing(variable, "LEAT_WORKERS_AT");
  x.job = job_in(variable, "LEAT_CLUSTER_JOB");
  return x;
}

launcher_facts read_launcher_facts(const variable_lookup& variable) {
  const auto chosen = innermost(variable);
  auto x = place_in(chosen);
  x.cluster = read_cluster_settings(variable);
  if (!x.cluster.coordinator)
    x.cluster.coordinator = launchers_address(variable, chosen.kind);
  if (!x.cluster.job)
    x.cluster.job = launchers_job(variable, chosen.kind);
  return x;
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
  if (const auto& state = x.cluster.state_directory; !state.empty())
    add("state in", in_quotes(state), "LEAT_CLUSTER_STATE");
  if (const auto& certificates = x.cluster.certificates; !certificates.empty())
    add("certificates in", in_quotes(certificates), "LEAT_CLUSTER_CERTS");
  return text;
}

} // namespace leat
