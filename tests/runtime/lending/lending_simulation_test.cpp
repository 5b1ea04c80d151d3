#include "tests/runtime/lending/lending_simulation.hpp"
#include "tests/support/random_faults.hpp"

namespace leat::lending_simulation_test {
namespace {

// LEAT_SIMULATION_SEEDS: how many runs of a kind.
// LEAT_SIMULATION_SEED:  seed of the first of them (random).

using test::lending_simulation;

std::uint64_t first_seed() {
  return test::number_in("LEAT_SIMULATION_SEED", std::random_device{}());
}
std::uint64_t num_seeds(std::uint64_t usual) {
  return test::number_in("LEAT_SIMULATION_SEEDS", usual);
}

TEST_CASE("lending: whatever helpers do, every row is in its batch once, and the same") {
  const auto first = first_seed();
  lender_counts sums;
  std::uint64_t here = 0;
  std::uint64_t cancelled = 0;
  const auto seeds = num_seeds(300);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    lending_simulation x{seed, {.helpers = seed % 7, .faults = seed % 5 * 20}};
    const auto made = x.run();
    REQUIRE(made == x.expected());
    sums.rows_lent += x.counts().rows_lent;
    sums.rows_received += x.counts().rows_received;
    sums.rows_dealt_again += x.counts().rows_dealt_again;
    sums.rows_declined += x.counts().rows_declined;
    here += x.made_here();
    cancelled += x.cancelled();
  }
  if (seeds < 300) // too few for that
    return;
  // Rows came in each way.
  REQUIRE(sums.rows_received > 1000);
  REQUIRE(here > 1000);
  REQUIRE(sums.rows_dealt_again > 100);
  REQUIRE(sums.rows_declined > 100);
  REQUIRE(cancelled > 100);
}

TEST_CASE("lending: a row that one helper keeps for good, and another one loses, is in its batch") {
  using fault = lending_simulation::fault;
  const auto first = first_seed();
  for (std::uint64_t seed = first; seed < first + num_seeds(1000); ++seed) {
    CAPTURE(seed);
    lending_simulation x{
        seed, {.helpers = 5, .faults = 60, .kinds = {fault::hung, fault::killed, fault::killed}}};
    REQUIRE(x.run() == x.expected());
  }
}

TEST_CASE("lending: rows that end each helper that makes them are made here after a few, and no "
          "others are missing, whatever other helpers are lost") {
  const auto first = first_seed();
  std::uint64_t ended = 0;
  for (std::uint64_t seed = first; seed < first + num_seeds(1000); ++seed) {
    CAPTURE(seed);
    constexpr std::uint64_t helpers = 4;
    lending_simulation x{seed, {.helpers = helpers, .faults = seed % 3 * 20, .one_is_deadly = 17}};
    REQUIRE(x.run() == x.expected());
    for (const auto& [row, deaths] : x.deaths()) {
      CAPTURE(row.first, row.second);
      REQUIRE(deaths <= lender_settings{}.most_losses + helpers);
      ended += deaths;
    }
  }
  REQUIRE(ended >= num_seeds(1000) / 2);
}

TEST_CASE("lending: helpers that make no row of a job are asked for few of them") {
  const auto first = first_seed();
  std::uint64_t declined = 0;
  for (std::uint64_t seed = first; seed < first + 30; ++seed) {
    CAPTURE(seed);
    lending_simulation x{seed, {.helpers = 2, .faults = 0, .unable = 2}};
    REQUIRE(x.run() == x.expected());
    REQUIRE(x.counts().rows_received == 0);
    declined += x.counts().rows_declined;
    // Each has its first eight, what was under way by then, and one after each rest.
    REQUIRE(x.counts().rows_declined < 100);
  }
  REQUIRE(declined > 30);
}

} // namespace
} // namespace leat::lending_simulation_test
