#include "tests/cluster/feed_world.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

#include <leat/error.hpp>

namespace leat::feed_simulation_test {

using namespace leat::test;

namespace {

using storage = feed_world::storage;

constexpr std::uint64_t seeds = sanitized ? 30 : 300;

std::uint64_t first_seed() {
  const char* text = std::getenv("LEAT_SIMULATION_SEED"); // NOLINT(concurrency-mt-unsafe)
  return text ? std::stoull(text) : std::random_device{}();
}

std::string texts_of(const std::map<std::uint64_t, std::string>& failures) {
  std::string all;
  for (const auto& [rank, text] : failures)
    all += std::to_string(rank) + ": " + text + '\n';
  return all;
}

TEST_CASE("feeds: every record is trained on once and in order, whatever dies") {
  const auto first = first_seed();
  std::uint64_t taken_back = 0;
  std::uint64_t sets = 0;
  for (auto seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    feed_world x{seed,
                 {.records = seed % 10 == 0 ? storage::files : storage::journal,
                  .ranks = 1 + seed % 4,
                  .storm = seconds_of(10),
                  .faults = seed % 5 * 10}};
    x.run();
    REQUIRE(texts_of(x.failures()) == "");
    REQUIRE(x.trained() == x.expected);
    taken_back += x.times_taken_back();
    sets += x.sets_stored();
  }
  // All of it has happened.
  CHECK(taken_back > seeds / 10);
  CHECK(sets > seeds);
}

TEST_CASE("feeds: without a journal, links and stops change nothing") {
  const auto first = first_seed();
  for (auto seed = first; seed < first + seeds / 3; ++seed) {
    CAPTURE(seed);
    feed_world x{seed,
                 {.records = storage::memory,
                  .ranks = 1 + seed % 4,
                  .storm = seconds_of(10),
                  .faults = 30,
                  .kills_feeds = false,
                  .kills_ranks = false}};
    x.run();
    REQUIRE(texts_of(x.failures()) == "");
    REQUIRE(x.trained() == x.expected);
  }
}

TEST_CASE("feeds: without a journal, a feed that dies is an error, or it had given all that is "
          "needed") {
  const auto first = first_seed();
  std::uint64_t failed = 0;
  for (auto seed = first; seed < first + seeds / 3; ++seed) {
    CAPTURE(seed);
    feed_world x{seed,
                 {.records = storage::memory,
                  .ranks = 1 + seed % 4,
                  .storm = seconds_of(2),
                  .faults = 30,
                  .kills_ranks = false}};
    x.run();
    REQUIRE(std::equal(x.trained().begin(), x.trained().end(), x.expected.begin()));
    if (x.failures().empty()) {
      REQUIRE(x.trained() == x.expected);
      continue;
    }
    ++failed;
    CAPTURE(texts_of(x.failures()));
    CHECK(texts_of(x.failures()).find("its records are lost") != std::string::npos);
  }
  CHECK((sanitized || failed > seeds / 30)); // otherwise they are too few for that
}

TEST_CASE("feeds: a second process that serves other records under the name is no harm") {
  const auto first = first_seed();
  for (auto seed = first; seed < first + seeds / 3; ++seed) {
    CAPTURE(seed);
    feed_world x{seed,
                 {.ranks = 1 + seed % 4,
                  .storm = seconds_of(5),
                  .faults = 10,
                  .kills_ranks = false,
                  .has_twin = true}};
    x.run();
    REQUIRE(texts_of(x.failures()) == "");
    REQUIRE(x.trained() == x.expected);
  }
}

} // namespace
} // namespace leat::feed_simulation_test
