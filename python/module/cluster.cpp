#include "runtime/base/error_in_flight.hpp"

#include <leat/cluster.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/loader.hpp"
#include "python/module/module.hpp"
#include <nanobind/stl/chrono.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace leat::python {

namespace {

constexpr const char* how_a_process_takes_part =
    "How a process takes part in a job of several processes, on one machine or many: "
    "`leat.Loader(data, cluster=leat.Cluster.from_env())`. What is not given is as in C++ "
    "(leat/cluster.hpp).";

std::string repr_of(const cluster& x) {
  std::string text = "leat.Cluster(address='" + x.address + "'";
  if (!x.state_directory.empty())
    text += ", state_directory='" + x.state_directory + "'";
  if (x.rank && x.world_size)
    text += ", rank=" + std::to_string(*x.rank) + ", world_size=" + std::to_string(*x.world_size);
  if (x.is_elastic())
    text += ", least_ranks=" + std::to_string(x.least_ranks)
            + ", most_ranks=" + std::to_string(x.most_ranks);
  return text + ")"; // never the token
}

} // namespace

void bind_cluster(nb::module_& m) {
  const cluster usual;
  nb::class_<cluster>(m, "Cluster", how_a_process_takes_part)
      .def(
          "__init__",
          [](cluster* to, std::string address, path_text state_directory,
             std::optional<bool> runs_coordinator, std::string token, path_text certificates,
             bool insecure, std::string job, const nb::object& interface,
             std::optional<std::uint64_t> rank, std::optional<std::uint64_t> world_size,
             std::uint64_t least_ranks, std::uint64_t most_ranks, rank_loss on_rank_loss,
             std::uint64_t run_ahead, std::string workers_at, const time_or_seconds& beat,
             const time_or_seconds& join_within, const time_or_seconds& coordinator_lost_after) {
            if (!interface.is_none()) // not in the signature: of versions before
              refuse_argument("cluster.interface", nb::str(interface).c_str(),
                              "address=\"host:port\", of the machine that runs the coordinator");
            new (to) cluster{.address = std::move(address),
                             .state_directory = std::move(state_directory),
                             .runs_coordinator = runs_coordinator,
                             .token = std::move(token),
                             .certificates = std::move(certificates),
                             .insecure = insecure,
                             .job = std::move(job),
                             .rank = rank,
                             .world_size = world_size,
                             .least_ranks = least_ranks,
                             .most_ranks = most_ranks,
                             .on_rank_loss = on_rank_loss,
                             .run_ahead = run_ahead,
                             .workers_at = std::move(workers_at),
                             .beat = time_of(beat),
                             .join_within = time_of(join_within),
                             .coordinator_lost_after = time_of(coordinator_lost_after)};
          },
          "address"_a = "", nb::kw_only(), "state_directory"_a = "",
          "runs_coordinator"_a = nb::none(), "token"_a = "", "certificates"_a = "",
          "insecure"_a = false, "job"_a = "", "interface"_a = nb::none(), "rank"_a = nb::none(),
          "world_size"_a = nb::none(), "least_ranks"_a = usual.least_ranks,
          "most_ranks"_a = usual.most_ranks, "on_rank_loss"_a = usual.on_rank_loss,
          "run_ahead"_a = usual.run_ahead, "workers_at"_a = "", "beat"_a = 1.0,
          "join_within"_a = 1800.0, "coordinator_lost_after"_a = 120.0,
          nb::sig("def __init__(self, address: str = '', *, state_directory: str | "
                  "os.PathLike[str] = '', runs_coordinator: bool | None = None, token: str = '', "
                  "certificates: str | os.PathLike[str] = '', insecure: bool = False, job: str = "
                  "'', rank: int | None = None, world_size: int | None = None, least_ranks: int = "
                  "0, most_ranks: int = 0, on_rank_loss: typing.Literal['back', 'alone'] = 'back', "
                  "run_ahead: int = 1000, workers_at: str = '', beat: float | datetime.timedelta = "
                  "1.0, join_within: "
                  "float | datetime.timedelta = 1800.0, coordinator_lost_after: float | "
                  "datetime.timedelta = 120.0) -> None"),
          "Times in seconds; each argument is an attribute of the same name.")
      .def_static("from_env", &cluster::from_env,
                  "What the environment says: rank and world size from torchrun, Open MPI or "
                  "Slurm, the coordinator from LEAT_CLUSTER_ADDRESS or the launcher, and "
                  "LEAT_CLUSTER_STATE, LEAT_CLUSTER_TOKEN, LEAT_CLUSTER_JOB, "
                  "LEAT_CLUSTER_CERTS, LEAT_CLUSTER_INSECURE, LEAT_WORKERS_AT. Attributes that are "
                  "set afterwards win.")
      .def_static("from_leat_env", &cluster::from_leat_env,
                  "leat's own variables alone, for a program that knows its rank and world size "
                  "otherwise.")
      .def_rw("address", &cluster::address, "value"_a, "host:port of the coordinator.")
      .def_prop_rw(
          "state_directory", [](const cluster& x) { return x.state_directory; },
          [](cluster& x, path_text value) { x.state_directory = std::move(value); }, "value"_a,
          "Where the coordinator keeps its state; rank 0 runs it if it is given one.")
      .def_rw("runs_coordinator", &cluster::runs_coordinator, "value"_a.none(),
              "Whether this process runs the coordinator; None: rank 0 does if it has a state "
              "directory.")
      .def_rw("token", &cluster::token, "value"_a, "The job's secret.")
      .def_prop_rw(
          "certificates", [](const cluster& x) { return x.certificates; },
          [](cluster& x, path_text value) { x.certificates = std::move(value); }, "value"_a,
          "Directory with certificate and key of this process (leat certs issue).")
      .def_rw("insecure", &cluster::insecure, "value"_a,
              "The network is private: without certificates nothing is encrypted.")
      .def_rw("job", &cluster::job, "value"_a, "The job's id.")
      .def_rw("rank", &cluster::rank, "value"_a.none(),
              "This process among world_size; None: that of the loader.")
      .def_rw("world_size", &cluster::world_size, "value"_a.none(),
              "How many there are; None: that of the loader.")
      .def_rw("least_ranks", &cluster::least_ranks, "value"_a,
              "Of an elastic job: with how many ranks it begins, and below how many it waits.")
      .def_rw("most_ranks", &cluster::most_ranks, "value"_a, "Above 0: the job is elastic.")
      .def_rw("on_rank_loss", &cluster::on_rank_loss, "value"_a,
              "\"back\": all ranks go back to the newest stored set when one is lost. \"alone\": "
              "the others go on, as far as run_ahead allows.")
      .def_rw("run_ahead", &cluster::run_ahead, "value"_a,
              "For \"alone\": batches that a rank may be ahead of the last one.")
      .def_rw("workers_at", &cluster::workers_at, "value"_a,
              "host:port where helpers of this rank connect; empty: nowhere.")
      .def_rw("beat", &cluster::beat, "value"_a,
              "Time between two signs of life, 10 ms to 60 s; a rank that is silent for 10 of them "
              "is lost. The same for all processes.")
      .def_rw("join_within", &cluster::join_within, "value"_a,
              "How long restore() and the first next() wait for all ranks to come.")
      .def_rw("coordinator_lost_after", &cluster::coordinator_lost_after, "value"_a,
              "How long next() waits for a coordinator that is gone.")
      .def_prop_ro("is_elastic", &cluster::is_elastic,
                   "The coordinator numbers the ranks, whose number may change.")
      .def("__repr__", &repr_of);
}

void bind_place_in_cluster(nb::class_<loader_value>& type) {
  type.def("join", called(&loader::join),
           "Waits until all ranks of the cluster are there, as restore() and the first next() do.")
      .def("resume_at", called(&loader::resume_at), "global_step"_a,
           "In a cluster whose ranks come back alone: goes on at this step of the job, by "
           "Batch.global_step, as the trainer says.")
      .def_prop_ro(
          "cluster_term", called(&loader::cluster_term),
          "The term of the cluster in which this rank has its place; 0 before it has joined.")
      .def_prop_ro(
          "has_come_back", called(&loader::has_come_back),
          "In a cluster whose ranks come back alone: whether the others went on while this rank "
          "was lost, so that resume_at() is needed.");
}

} // namespace leat::python
