#pragma once

#include <leat/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace leat {

/// What the other ranks of a cluster do when one is lost.
enum class rank_loss : std::uint8_t {
  /// All go back to the newest stored set, once the lost rank has come back.
  back,
  /// They continue, as far as `cluster::run_ahead` allows; the lost rank comes back where its
  /// trainer says (`loader::resume_at`).
  alone,
};

/// How a process takes part in a job of several processes, on one machine or many, whose loaders
/// agree through a coordinator: who has which seat, where epochs end, where all begin after a
/// failure, and when a snapshot of the whole job is stored. Large because each field is an option.
///
///     leat::loader loader{data, {.cluster = leat::cluster::from_env()}};
///     loader.restore("checkpoints"); // joins, and waits for all ranks
///
struct LEAT_API cluster {
  /// Where the coordinator listens: "node1:4242", "10.0.0.5:4242", "[fd00::5]:4242". May be empty
  /// if there is a state directory that all hosts share: the coordinator writes there where it is.
  std::string address = {};
  /// Where the coordinator keeps what must outlive it, on a file system that all machines share
  /// which may run it. Rank 0's process runs the coordinator if it is given one; without it, `leat
  /// coordinator` runs apart.
  std::string state_directory = {};
  /// Whether this process runs the coordinator; empty: rank 0's does, if it has a state directory.
  std::optional<bool> runs_coordinator = {};
  /// What all processes of the job must know; the coordinator ignores a process that says something
  /// else.
  std::string token = {};
  /// Directory with this process's `ca.pem`, `cert.pem` and `key.pem`, as `leat certs issue` writes
  /// them, for the role rank, and coordinator if it may run that. All processes have certificates
  /// of one authority, or none has. They are read again when they have changed.
  std::string certificates = {};
  /// Without certificates nothing is encrypted, and whoever reads the network learns the token. So
  /// addresses other than loopback are then refused unless this says that the network is private.
  bool insecure = false;
  /// The job's id: a state directory belongs to one job until that is over. Empty: made from the
  /// pipeline and options.
  std::string job = {};

  /// This process among `world_size`; empty: those of loader_options.
  std::optional<std::uint64_t> rank = {};
  std::optional<std::uint64_t> world_size = {};
  /// Both above 0: an elastic job. Its ranks are numbered by the coordinator; it begins with as
  /// many as come, shrinks when a rank is lost, and grows after a stored set.
  std::uint64_t least_ranks = 0;
  std::uint64_t most_ranks = 0;
  rank_loss on_rank_loss = rank_loss::back;
  /// For `alone`: batches that a rank may be ahead of the last one.
  std::uint64_t run_ahead = 1000;

  /// As `loader_options::workers_at`, for a loader that says nothing else: helpers that join the
  /// coordinator are told of it. Who may help is who may be a rank, with a certificate for the role
  /// worker.
  std::string workers_at = {};

  /// Time between two signs of life, 10 ms to 60 s. A rank that is silent for 10 of them is lost
  /// (3 if its connection was closed), and without an answer for 30 of them a rank hands over no
  /// batch. The same for all processes.
  std::chrono::milliseconds beat{1000};
  /// How long restore() and the first next() wait for all ranks to come.
  std::chrono::milliseconds join_within{std::chrono::minutes{30}};
  /// How long next() waits for a coordinator that is gone, or that cannot use its state directory;
  /// it may be restarted meanwhile.
  std::chrono::milliseconds coordinator_lost_after{std::chrono::minutes{2}};

  /// What the environment says: rank and world size from torchrun, Open MPI or Slurm, the
  /// coordinator from LEAT_CLUSTER_ADDRESS ("host:port"; otherwise MASTER_ADDR or Slurm's first
  /// node, with a port of leat's own), LEAT_CLUSTER_STATE, LEAT_CLUSTER_TOKEN, LEAT_CLUSTER_JOB,
  /// LEAT_CLUSTER_CERTS, LEAT_CLUSTER_INSECURE ("1") and LEAT_WORKERS_AT. Throws
  /// `errc::invalid_argument` for what is missing, contradicts something else or cannot be read.
  /// What is set here afterwards wins.
  static cluster from_env();

  /// leat's own variables alone (LEAT_CLUSTER_...), for a program that knows its rank and world
  /// size otherwise.
  static cluster from_leat_env();

  bool is_elastic() const noexcept { return most_ranks > 0; }
};

} // namespace leat
