#include "runtime/feeding/fed_job.hpp"
#include "tests/support/test.hpp"

namespace leat::fed_job_test {
namespace {

constexpr std::size_t record_bytes = 10;

/// A job with a link, which has heard that there are so many records.
fed_job linked_job(std::uint64_t records, std::uint64_t window) {
  fed_job x{"queue", window, {2, 1, 0}};
  x.client.linked();
  x.client.heard({.stream = {"queue", {1, 2}}, .has_journal = true, .next = records});
  return x;
}

/// Looks at a record, has it sent, and reads it.
void take(fed_job& x, std::uint64_t number) {
  REQUIRE(x.look(number) == live_source::state::ready);
  const std::string content(record_bytes, 'x');
  if (const auto want = x.client.take_want(); want && !want->fetch.empty())
    for (const auto asked : want->fetch)
      REQUIRE(x.client.receive(asked, fetched_records::kept(content, nullptr)));
  REQUIRE(x.read(number));
}

TEST_CASE("fed_job: nothing is remembered of records that lanes have released") {
  auto x = linked_job(10'000, 1'000'000);
  for (std::uint64_t number = 0; number < 10'000; ++number) {
    take(x, number);
    if (number % 100 == 99)
      for (std::uint64_t lane = 0; lane < 2; ++lane)
        x.cover(number + 1, lane);
    REQUIRE(x.kept() <= 100);
  }
  CHECK(x.kept() == 0);
  CHECK(x.client.records().bytes_held() == 0);
}

TEST_CASE("fed_job: a record of another rank's lane keeps its turn, however many come and go") {
  fed_job x{"queue", 20 * record_bytes, {2, 2, 0}};
  x.client.linked();
  x.client.heard({.stream = {"queue", {1, 2}}, .has_journal = true, .next = 20'000});
  const std::string content(record_bytes, 'x');
  CHECK_FALSE(x.read(1));
  REQUIRE(x.client.take_want()->fetch == std::vector<std::uint64_t>{1});
  REQUIRE(x.client.receive(1, fetched_records::kept(content, nullptr)));
  REQUIRE(x.read(1));
  for (std::uint64_t number = 0; number < 10'000; number += 2) {
    take(x, number);
    x.cover(number, 0);
    REQUIRE(x.kept() == 2);
  }
  CHECK(x.client.records().find(1));
  for (std::uint64_t number = 10'000; number < 10'018; number += 2)
    take(x, number);
  CHECK(x.kept() == 10);
  CHECK_FALSE(x.client.records().find(1));
  CHECK(x.client.records().find(10'000));
}

TEST_CASE("fed_job: it is short of a record that its iterators have come to before the source") {
  fed_job x{"queue", 1000, {2, 1, 0}};
  CHECK_FALSE(x.is_short());
  CHECK(x.look(0) == live_source::state::pending);
  CHECK(x.is_short());
  feed_offer has{.stream = {"queue", {1, 2}}, .has_journal = true, .next = 3};
  x.client.linked();
  x.client.heard(has);
  CHECK_FALSE(x.is_short());
  CHECK(x.look(3) == live_source::state::pending);
  CHECK(x.is_short());
  CHECK(x.lanes().reached(3) == 3);
  const bool has_ended = GENERATE(true, false);
  has.has_ended = has_ended;
  x.client.heard(has);
  x.is_over = !has_ended;
  CHECK_FALSE(x.is_short());
}

TEST_CASE("fed_job: what was read stays until it has half of the window, and the oldest goes") {
  auto x = linked_job(100, 20 * record_bytes);
  for (std::uint64_t number = 0; number < 15; ++number)
    take(x, number);
  CHECK(x.kept() == 10);
  CHECK(x.client.records().bytes_held() == 10 * record_bytes);
  CHECK_FALSE(x.client.records().find(4));
  CHECK(x.client.records().find(5));
  // It is there again for whoever reads it later.
  CHECK_FALSE(x.read(0));
  const auto want = x.client.take_want();
  REQUIRE(want);
  CHECK(want->fetch == std::vector<std::uint64_t>{0});
}

} // namespace
} // namespace leat::fed_job_test
