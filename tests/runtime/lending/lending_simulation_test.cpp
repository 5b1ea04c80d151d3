#include "tests/runtime/lending/lending_simulation.hpp"

namespace leat::lending_simulation_test {
namespace {

using test::lending_simulation;

TEST_CASE("lending: whatever helpers do, every row is in its batch once, and the same") {
  const std::uint64_t first = std::random_device{}();
  lender_counts sums;
  std::uint64_t here = 0;
  for (std::uint64_t seed = first; seed < first + 300; ++seed) {
    CAPTURE(seed);
    lending_simulation x{seed, {.helpers = seed % 7, .faults = seed % 5 * 20}};
    const auto made = x.run();
    REQUIRE(made == x.expected());
    sums.rows_lent += x.counts().rows_lent;
    sums.rows_received += x.counts().rows_received;
    sums.rows_dealt_again += x.counts().rows_dealt_again;
    sums.rows_declined += x.counts().rows_declined;
    here += x.made_here();
  }
  // Rows came in each way.
  REQUIRE(sums.rows_received > 1000);
  REQUIRE(here > 1000);
  REQUIRE(sums.rows_dealt_again > 100);
  REQUIRE(sums.rows_declined > 100);
}

} // namespace
} // namespace leat::lending_simulation_test
