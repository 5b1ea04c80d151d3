#include "tests/cluster/cluster_run.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/sanitized.hpp"

namespace leat::cluster_simulation_test {

using namespace leat::test;

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable); // NOLINT(concurrency-mt-unsafe)
  return text ? std::stoull(text) : otherwise;
}

} // namespace

TEST_CASE("clusters with faults train on what one process would, and come to their end") {
  const auto first = number_from("LEAT_SIMULATION_SEED", 8200500);
  const auto seeds = number_from("LEAT_SIMULATION_SEEDS", sanitized ? 45 : 3000);
  const auto only = number_from("LEAT_SIMULATION_FOCUS", num_focuses);
  const bool verbose = std::getenv("LEAT_SIMULATION_VERBOSE"); // NOLINT(concurrency-mt-unsafe)
  const auto begin = std::chrono::steady_clock::now();
  run_counts_of_judge all;
  std::uint64_t events = 0;
  std::uint64_t faults = 0;
  std::uint64_t runs = 0;
  std::uint64_t bad = 0;
  for (auto seed = first; seed < first + seeds; ++seed) {
    if (!sanitized && !is_drawn(seed))
      continue;
    const auto where = static_cast<focus>(only < num_focuses ? only : seed % num_focuses);
    const auto x = cluster_run{seed, where, {}, verbose}.result();
    if (x.what == outcome::skipped)
      continue;
    ++runs;
    events += x.events;
    faults += x.faults;
    all.batches += x.counts.batches;
    all.sets += x.counts.sets;
    all.returns += x.counts.returns;
    all.restored_elsewhere += x.counts.restored_elsewhere;
    if (x.what == outcome::good)
      continue;
    ++bad;
    std::cout << "seed " << seed << " focus " << static_cast<int>(where) << ": " << x.text << "\n";
    if (bad == 20)
      break;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::cout << runs << " runs from seed " << first << ": " << faults << " faults, " << events
            << " events (" << static_cast<double>(events) / time.count() << " per second), "
            << all.batches << " batches, " << all.sets << " sets, " << all.returns << " returns, "
            << all.restored_elsewhere << " sets restored elsewhere\n";
  CHECK(bad == 0);
}

} // namespace leat::cluster_simulation_test
