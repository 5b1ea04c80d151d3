#include "runtime/network/launcher_environment.hpp"
#include "tests/support/test.hpp"

namespace leat::launcher_environment_test {
namespace {

using variables = std::map<std::string, std::string>;

variable_lookup lookup_in(const variables& x) {
  return [&x](const std::string& name) {
    const auto found = x.find(name);
    return found == x.end() ? std::nullopt : std::optional{found->second};
  };
}

launcher_facts facts_of(const variables& x) {
  return read_launcher_facts(lookup_in(x));
}

network_address coordinator_of(const variables& x) {
  return facts_of(x).cluster.coordinator.value().value;
}

std::string shown(const variables& x) {
  return to_string(facts_of(x));
}

/// The error's text; empty if there is none.
std::string refusal(const variables& x) {
  const auto problem = problem_of([&] { facts_of(x); });
  if (!problem)
    return {};
  CHECK(problem->code() == errc::invalid_argument);
  CHECK_FALSE(problem->details().stage.empty());
  CHECK_FALSE(problem->details().needed.empty());
  return problem->what();
}

variables operator+(variables a, const variables& b) {
  for (const auto& [name, value] : b)
    a.insert_or_assign(name, value);
  return a;
}

const variables torchrun{{"RANK", "2"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "0"},
                         {"MASTER_ADDR", "node1"},
                         {"MASTER_PORT", "29500"},
                         {"TORCHELASTIC_RUN_ID", "run-17"},
                         {"TORCHELASTIC_RESTART_COUNT", "0"}};
const variables srun{{"SLURM_PROCID", "5"},
                     {"SLURM_NTASKS", "8"},
                     {"SLURM_LOCALID", "1"},
                     {"SLURM_JOB_ID", "1234"},
                     {"SLURM_STEP_ID", "0"},
                     {"SLURM_STEP_NUM_TASKS", "8"},
                     {"SLURM_JOB_NODELIST", "node[01-03,7],other5"},
                     {"SLURM_STEP_NODELIST", "node[02-03]"}};
const variables mpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                       {"OMPI_COMM_WORLD_SIZE", "16"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                       {"PMIX_NAMESPACE", "prterun-head-77@1"}};
/// What a batch script of eight tasks sees.
const variables sbatch{{"SLURM_PROCID", "0"},
                       {"SLURM_NTASKS", "8"},
                       {"SLURM_JOB_ID", "1234"},
                       {"SLURM_JOB_NODELIST", "node[01-03,7],other5"}};

TEST_CASE("launcher environment: torchrun") {
  const auto x = facts_of(torchrun);
  CHECK_FALSE(x.cluster.is_insecure);
  CHECK(x.cluster.token.empty());
  CHECK(
      shown(torchrun)
      == "rank 2 of 4 from torchrun (RANK, WORLD_SIZE), coordinator node1:62268 from MASTER_ADDR, "
         "MASTER_PORT, job run-17 from TORCHELASTIC_RUN_ID");
  CHECK_FALSE(facts_of(torchrun + variables{{"TORCHELASTIC_RUN_ID", "none"}}).cluster.job);
}

TEST_CASE("launcher environment: Slurm") {
  CHECK(shown(srun)
        == "rank 5 of 8 from Slurm (SLURM_PROCID, SLURM_NTASKS), coordinator node02:11234 from "
           "SLURM_STEP_NODELIST, SLURM_JOB_ID, SLURM_STEP_ID, job 1234 from SLURM_JOB_ID");
  auto no_step = srun;
  no_step.erase("SLURM_STEP_NODELIST");
  CHECK(coordinator_of(no_step).host == "node01");
  CHECK(coordinator_of(srun + variables{{"SLURM_STEP_ID", "1"}}).port == 11234 + 4099);
  // A script that exports torch's address does not move the coordinator.
  CHECK(coordinator_of(srun + variables{{"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}}).host
        == "node02");
}

TEST_CASE("launcher environment: Open MPI") {
  const auto x = facts_of(mpirun);
  CHECK(x.rank == 1);
  CHECK(x.world_size == 16);
  CHECK(x.cluster.job.value().value == "prterun-head-77@1");
  CHECK_FALSE(x.cluster.coordinator);
  CHECK(coordinator_of(mpirun + variables{{"MASTER_ADDR", "head"}, {"MASTER_PORT", "29500"}})
        == network_address{"head", 62268});
}

TEST_CASE("launcher environment: the innermost launcher counts") {
  // torchrun in each task of srun, or of mpirun
  CHECK(facts_of(srun + torchrun).rank == 2);
  CHECK(coordinator_of(srun + torchrun).host == "node1");
  CHECK(facts_of(mpirun + torchrun).world_size == 4);
  CHECK(facts_of(srun + torchrun + variables{{"TORCHELASTIC_RUN_ID", "none"}})
            .cluster.job.value()
            .value
        == "1234");
  // deepspeed and others say LOCAL_RANK, and nothing of torchrun's own
  auto other = torchrun;
  other.erase("TORCHELASTIC_RUN_ID");
  CHECK(facts_of(srun + other).rank == 2);
  // mpirun in an allocation: its own node has a batch script's variables, others those of its
  // daemon's task; both must find the same coordinator.
  const auto on_first = facts_of(sbatch + mpirun);
  const auto elsewhere = facts_of(srun + mpirun
                                  + variables{{"SLURM_PROCID", "0"},
                                              {"SLURM_NTASKS", "1"},
                                              {"SLURM_STEP_NUM_TASKS", "1"},
                                              {"SLURM_STEP_ID", "3"}});
  CHECK(on_first.world_size == 16);
  CHECK(elsewhere.world_size == 16);
  CHECK(on_first.cluster.coordinator->value == elsewhere.cluster.coordinator->value);
  CHECK(on_first.cluster.coordinator->value == network_address{"node01", 11234});
}

TEST_CASE("launcher environment: RANK and WORLD_SIZE set by hand must agree with the launcher") {
  const variables same{{"RANK", "5"}, {"WORLD_SIZE", "8"}};
  CHECK(facts_of(same).rank == 5);
  CHECK(facts_of(srun + same).source == "torchrun (RANK, WORLD_SIZE)");
  CHECK(coordinator_of(srun + same).host == "node02");
  // Exported once, and so equal in all tasks.
  const auto text = refusal(srun + variables{{"RANK", "0"}, {"WORLD_SIZE", "8"}});
  CHECK(has(text, "RANK=\"0\" and SLURM_PROCID=\"5\""));
  CHECK(has(refusal(srun + variables{{"RANK", "5"}, {"WORLD_SIZE", "9"}}),
            "WORLD_SIZE=\"9\" and SLURM_NTASKS=\"8\""));
  CHECK(has(refusal(mpirun + variables{{"RANK", "0"}, {"WORLD_SIZE", "16"}}),
            "RANK=\"0\" and OMPI_COMM_WORLD_RANK=\"1\""));
  // A batch script's own process is no task of Slurm's.
  CHECK(facts_of(sbatch + same).rank == 5);
}

TEST_CASE("launcher environment: a variable without its partner") {
  CHECK(has(refusal({{"RANK", "0"}}), "RANK=\"0\" without WORLD_SIZE"));
  CHECK(has(refusal({{"WORLD_SIZE", "2"}}), "WORLD_SIZE=\"2\" without RANK"));
  CHECK(has(refusal({{"OMPI_COMM_WORLD_SIZE", "2"}}), "without OMPI_COMM_WORLD_RANK"));
  CHECK(has(refusal({{"SLURM_NTASKS", "2"}}), "without SLURM_PROCID"));
  // Scripts export WORLD_SIZE alone, maybe as a number of hosts: the launcher that says both
  // counts.
  for (const auto* size : {"8", "2"})
    CHECK(facts_of(srun + variables{{"WORLD_SIZE", size}}).world_size == 8);
  CHECK(facts_of(mpirun + variables{{"RANK", "0"}}).rank == 1);
  // An allocation around a launcher that says both.
  CHECK(facts_of(torchrun + variables{{"SLURM_NTASKS", "64"}}).rank == 2);
  CHECK(has(refusal({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}}),
            "without MASTER_PORT"));
  CHECK(has(refusal({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_PORT", "1"}}),
            "without MASTER_ADDR"));
}

TEST_CASE("launcher environment: a batch script's own process is no rank of many") {
  CHECK(has(refusal(sbatch), "without SLURM_STEP_ID"));
  CHECK(has(refusal(srun + variables{{"SLURM_STEP_NUM_TASKS", "1"}}),
            "SLURM_NTASKS=\"8\" and SLURM_STEP_NUM_TASKS=\"1\""));
  const auto alone = facts_of(sbatch + variables{{"SLURM_NTASKS", "1"}});
  CHECK(alone.rank == 0);
  CHECK(alone.world_size == 1);
}

TEST_CASE("launcher environment: numbers that are none, or out of range") {
  const auto wrong = [](const char* name, const std::string& value) {
    const auto text = refusal(torchrun + variables{{name, value}});
    CAPTURE(name, value, text);
    CHECK(has(text, std::string{name} == "MASTER_PORT" ? "port" : name));
  };
  for (const std::string value :
       {"", "-1", "+1", " 1", "1 ", "1x", "0x1", "99999999999999999999", "4"})
    wrong("RANK", value);
  for (const std::string value : {"", "0", "-4", "2", "1e3", "1000001"})
    wrong("WORLD_SIZE", value);
  for (const std::string value : {"", "0", "65536", "x"})
    wrong("MASTER_PORT", value);
  wrong("MASTER_ADDR", "");
  wrong("MASTER_ADDR", "a b");
  wrong("TORCHELASTIC_RUN_ID", "");
  CHECK(has(refusal(torchrun + variables{{"RANK", "4"}}), "RANK=\"4\" and WORLD_SIZE=\"4\""));
  CHECK(has(refusal(srun + variables{{"SLURM_JOB_ID", "a"}}), "SLURM_JOB_ID=\"a\""));
  CHECK(has(refusal(srun + variables{{"SLURM_STEP_NODELIST", "n[1"}}), "SLURM_STEP_NODELIST"));
  CHECK(facts_of({{"RANK", "999999"}, {"WORLD_SIZE", "1000000"}}).rank == 999999);
}

TEST_CASE("launcher environment: nothing set") {
  const auto text = refusal({});
  for (const auto* part :
       {"torchrun", "srun", "mpirun", "RANK", "WORLD_SIZE", "LEAT_CLUSTER_ADDRESS"})
    CHECK(has(text, part));
}

TEST_CASE("launcher environment: leat's own variables come before a launcher's") {
  const variables own{
      {"LEAT_CLUSTER_ADDRESS", "[fd00::1]:4711"}, {"LEAT_CLUSTER_STATE", "/shared/job 7"},
      {"LEAT_CLUSTER_TOKEN", "se cret"},          {"LEAT_CLUSTER_CERTS", "/certs/7"},
      {"LEAT_CLUSTER_INSECURE", "true"},          {"LEAT_CLUSTER_JOB", "nightly"}};
  const auto x = facts_of(torchrun + own);
  CHECK(x.cluster.coordinator.value().value == network_address{"fd00::1", 4711});
  CHECK(x.cluster.token == "se cret");
  CHECK(x.cluster.certificates == "/certs/7");
  CHECK(x.cluster.is_insecure);
  const auto text = to_string(x);
  CHECK(
      text
      == "rank 2 of 4 from torchrun (RANK, WORLD_SIZE), coordinator [fd00::1]:4711 from "
         "LEAT_CLUSTER_ADDRESS, job nightly from LEAT_CLUSTER_JOB, state in \"/shared/job 7\" from "
         "LEAT_CLUSTER_STATE, certificates in \"/certs/7\" from LEAT_CLUSTER_CERTS");
  // What the launcher says is then not even read.
  CHECK(facts_of(torchrun + own + variables{{"MASTER_PORT", "x"}}).rank == 2);
  CHECK(facts_of(srun + own + variables{{"SLURM_STEP_NODELIST", "n["}}).rank == 5);

  const auto alone = read_cluster_settings(lookup_in(own));
  CHECK(alone.job.value().value == "nightly");
  CHECK(alone.state_directory == "/shared/job 7");
  CHECK_FALSE(read_cluster_settings(lookup_in({})).coordinator);
  for (const auto& [value, is_set] :
       std::map<std::string, bool>{{"1", true}, {"0", false}, {"false", false}})
    CHECK(facts_of(torchrun + variables{{"LEAT_CLUSTER_INSECURE", value}}).cluster.is_insecure
          == is_set);
}

TEST_CASE("launcher environment: leat's own variables are refused by name, the token's value never "
          "shown") {
  for (const auto& [name, value] : {std::pair{"LEAT_CLUSTER_ADDRESS", ""},
                                    {"LEAT_CLUSTER_ADDRESS", "host"},
                                    {"LEAT_CLUSTER_ADDRESS", "host:0"},
                                    {"LEAT_CLUSTER_STATE", ""},
                                    {"LEAT_CLUSTER_TOKEN", ""},
                                    {"LEAT_CLUSTER_CERTS", ""},
                                    {"LEAT_CLUSTER_INSECURE", ""},
                                    {"LEAT_CLUSTER_INSECURE", "yes"},
                                    {"LEAT_CLUSTER_JOB", ""},
                                    {"LEAT_CLUSTER_JOB", "a\nb"}}) {
    CAPTURE(name, value);
    CHECK(has(refusal(torchrun + variables{{name, value}}), name));
  }
  CHECK(refusal(torchrun + variables{{"LEAT_CLUSTER_JOB", std::string(256, 'x')}}).empty());
  CHECK(has(refusal(torchrun + variables{{"LEAT_CLUSTER_JOB", std::string(257, 'x')}}),
            "at most 256"));
  const variables secret{{"LEAT_CLUSTER_TOKEN", "sesame"}, {"LEAT_CLUSTER_INSECURE", "?"}};
  CHECK_FALSE(has(refusal(torchrun + secret), "sesame"));
}

TEST_CASE(
    "launcher environment: leat's port is never torch's own, never 0, and apart for ports that "
    "Linux chose") {
  std::set<std::uint16_t> chosen;
  std::set<std::uint16_t> low;
  for (unsigned port = 1; port <= 65535; ++port) {
    const auto beside =
        coordinator_of(torchrun + variables{{"MASTER_PORT", std::to_string(port)}}).port;
    REQUIRE(beside != port);
    REQUIRE(beside >= 1024);
    if (port >= 32768 && port <= 60999) {
      REQUIRE(beside < 32768);
      REQUIRE(chosen.insert(beside).second);
    } else if (port < 32768) {
      REQUIRE(low.insert(beside).second);
    }
  }
}

TEST_CASE("launcher environment: neighbouring jobs and the steps of a job have different ports, "
          "outside of what Linux chooses") {
  for (std::uint64_t job :
       {std::uint64_t{1}, std::uint64_t{16383}, std::uint64_t{123'456'789}, UINT64_MAX - 200'000}) {
    std::set<std::uint16_t> ports;
    for (std::uint64_t i = 0; i < 100; ++i)
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto port = coordinator_of(srun
                                         + variables{{"SLURM_JOB_ID", std::to_string(job + i)},
                                                     {"SLURM_STEP_ID", std::to_string(step)}})
                              .port;
        REQUIRE(port >= 10000);
        REQUIRE(port < 26384);
        REQUIRE(ports.insert(port).second);
      }
  }
}

TEST_CASE(
    "launcher environment: the first of Slurm's hosts, with the first number of each bracket") {
  const auto first = [](const char* list) {
    return coordinator_of(srun + variables{{"SLURM_STEP_NODELIST", list}}).host;
  };
  CHECK(first("node[01-03,7],other5") == "node01");
  CHECK(first("node[7,01-03]-ib,other5") == "node7-ib");
  CHECK(first("other5,node[01-03,7]") == "other5");
  CHECK(first("rack[0-1]n[008-010].cluster") == "rack0n008.cluster");
  CHECK(first("a-b-1,c") == "a-b-1");
  for (const auto* list : {"", ",a", "n[", "n]", "n[]", "n[-1]", "n[,1]", "n[a-b]", "n[[1]]"}) {
    CAPTURE(list);
    CHECK(has(refusal(srun + variables{{"SLURM_STEP_NODELIST", list}}), "SLURM_STEP_NODELIST"));
  }
}

} // namespace
} // namespace leat::launcher_environment_test
