#pragma once

#include "runtime/network/address.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace leat {

/// The value of an environment variable; nothing where it is not set.
using variable_lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// A value that the environment gave, and the variables that it came from: "MASTER_ADDR,
/// MASTER_PORT".
template <class T>
struct found_value {
  T value = {};
  std::string source = {};
};

/// What a process must know to find its cluster, whatever it does there.
struct cluster_settings {
  /// LEAT_CLUSTER_ADDRESS
  std::optional<found_value<network_address>> coordinator = {};
  /// LEAT_CLUSTER_STATE; empty if it is not set.
  std::string state_directory = {};
  /// LEAT_CLUSTER_TOKEN; never shown to anyone.
  std::string token = {};
  /// LEAT_CLUSTER_CERTS: a directory; empty if it is not set.
  std::string certificates = {};
  /// LEAT_CLUSTER_INSECURE
  bool is_insecure = false;
  /// LEAT_WORKERS_AT; empty if it is not set.
  std::string workers_at = {};
  /// LEAT_CLUSTER_JOB, at most 256 bytes, printable.
  std::optional<found_value<std::string>> job = {};
};

/// What the environment says of a rank.
struct launcher_facts {
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;
  /// "torchrun (RANK, WORLD_SIZE)"
  std::string source = {};
  /// With the coordinator and the job as the launcher says them, where no LEAT_CLUSTER_... does.
  cluster_settings cluster = {};
};

/// leat's own variables alone, for processes without a rank. Throws `errc::invalid_argument` for a
/// variable that is empty or cannot be read; the text names it, and its value unless that is the
/// token.
cluster_settings read_cluster_settings(const variable_lookup& variable);

/// Everything that a rank needs.
///
/// **Rank and world size** come from the first of these that has set both, the innermost launcher:
/// torchrun (RANK, WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE), Slurm
/// (SLURM_PROCID, SLURM_NTASKS). torchrun runs within srun or mpirun, and mpirun within a Slurm
/// allocation, so what the outer launcher says may differ. RANK and WORLD_SIZE without LOCAL_RANK
/// and TORCHELASTIC_RUN_ID were set by hand, and must agree with the other launchers. A shell that
/// sbatch or salloc started is no rank of Slurm's.
///
/// **Coordinator**, without LEAT_CLUSTER_ADDRESS: MASTER_ADDR with a port of leat's own: 32768 more
/// than MASTER_PORT below 32768, and 28232 less from there on, so that it differs from torch's, and
/// the ports that Linux chooses by itself (32768 to 60999) become 4536 to 32767. In a Slurm job
/// otherwise the first host of the step's nodes, with the port
/// 10000 + (job + 4099 x step) mod 16384, so that jobs that follow one another, and the steps of
/// one job, have different ones; under mpirun, of the job's nodes and the job alone, because
/// mpirun's own node is not in the step. Nothing where neither is set.
///
/// **Job**, without LEAT_CLUSTER_JOB: TORCHELASTIC_RUN_ID unless it is "none", PMIX_NAMESPACE under
/// mpirun, SLURM_JOB_ID. Nothing where none is set.
///
/// Throws `errc::invalid_argument`: without any rank, saying what to set; where a variable has no
/// partner, is no number or is out of range; and for a contradiction, with both variables.
launcher_facts read_launcher_facts(const variable_lookup& variable);

/// One line for a log, without the token: "rank 2 of 4 from torchrun (RANK, WORLD_SIZE),
/// coordinator node1:62268 from MASTER_ADDR, MASTER_PORT".
std::string to_string(const launcher_facts& x);

} // namespace leat
