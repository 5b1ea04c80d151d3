#include "tests/support/cluster_job.hpp"
#include "tests/support/coordinator_process.hpp"
#include "tests/support/small_network.hpp"

// Jobs whose processes have a network stack each, as on separate machines: Linux network
// namespaces. Needs root; otherwise nothing is tested.
namespace leat::test::cluster_hosts_test {
namespace {

using std::chrono::milliseconds;

constexpr auto pipeline =
    R"(count(2400).filter("key_hash@1", keep=80).shuffle_buffer(48, seed=1).batch(24, lanes=24, end="mask"))";

TEST_CASE("ranks on hosts of their own hand over what one process does, over bad links and cuts") {
  constexpr std::uint64_t world_size = 3;
  const auto [own, loss] =
      GENERATE(std::pair{"10.99.0.4", "alone"}, std::pair{"[fd00:99::4]", "back"});
  const small_network network{4};
  if (!network.is_there()) {
    WARN("skipped: no network namespaces (they need root, and the command ip)");
    return;
  }
  CAPTURE(own, loss);
  cluster_job job{
      pipeline,
      2,
      world_size,
      {"--snapshot-every", "20", "--step-time", "15", "--on-rank-loss", loss, "--beat", "100"}};
  const std::string bind = own + std::string{":0"};
  const words state{"--state", job.bench.at / "state", "--lost-after", "3", "--lease",
                    "5",       "--insecure",           "--bind"};
  std::optional<coordinator_process> coordinator;
  coordinator.emplace(job.bench, "first", state + words{bind}, network.host(4));
  const auto address = coordinator->address();
  const auto begin = [&](std::uint64_t rank) {
    const auto name = std::to_string(rank);
    job.take(rank, job.launch(name, job.log_of(rank), words{"--cluster", address} + job.seat(rank),
                              "LEAT_CLUSTER_INSECURE=1", network.host(static_cast<int>(rank) + 1)));
  };
  for (std::uint64_t rank = 0; rank < world_size; ++rank)
    begin(rank);
  job.wait_for_batches(0, 5);
  if (!network.worsen(1, 20, 2))
    WARN("this kernel has no netem: no link is bad");
  job.wait_for_batches(0, 20);
  // Longer than a rank may be silent. The rank comes back alone: the others continue.
  network.cut(2);
  std::this_thread::sleep_for(milliseconds{4000});
  network.join(2);
  job.wait_for_batches(1, job.batches_of(1) + 10);
  // Another coordinator at the same address.
  coordinator->kill();
  coordinator.emplace(job.bench, "second", state + words{address}, network.host(4));
  (void)coordinator->address();
  job.wait_for_batches(2, job.batches_of(2) + 10);
  job.rank(2).kill();
  begin(2);
  job.check_end();
  job.check_sets();
  CHECK(coordinator->end() == 0);
}

} // namespace
} // namespace leat::test::cluster_hosts_test
