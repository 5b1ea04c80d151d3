#include "runtime/base/worker_record.hpp"
#include "tests/support/test.hpp"

namespace leat::test::stage_clock_test {
namespace {

using std::chrono::nanoseconds;

std::vector<std::int64_t> times_of(const stage_clock& x) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i <= x.num_stages(); ++i)
    result.push_back(x.time_in(i).count());
  return result;
}

} // namespace

TEST_CASE("stage clock: a row's time goes to its stages, and the rest beside them") {
  stage_clock x;
  x.prepare(3, {});
  x.begin(1'000);
  x.enter(0, 1'010);              // 10 ns before the first stage
  x.enter(1, 1'110);              // 100 ns in stage 0
  x.enter(0, 1'140);              // 30 ns in stage 1
  x.enter(x.num_stages(), 1'145); // 5 ns more in stage 0
  x.end(1'205, 1, 0, 0);          // 60 ns of writing
  REQUIRE(times_of(x) == std::vector<std::int64_t>{105, 30, 0, 70});
}

TEST_CASE("stage clock: one row stands for the rows like it") {
  stage_clock x;
  x.prepare(1, {});
  x.begin(0);
  x.enter(0, 40);
  x.end(100, 8, 0, 0);
  x.begin(500);
  x.end(510, 1, 0, 0);
  REQUIRE(times_of(x) == std::vector<std::int64_t>{480, 330});
}

TEST_CASE("stage clock: what is not measured, or was not prepared for, adds nothing to a stage") {
  stage_clock x;
  x.enter(0, 5); // before it is prepared
  x.prepare(1, {});
  x.enter(0, 10); // between rows that are measured
  x.begin(20);
  x.enter(7, 30); // an unknown stage: outside the stages
  x.end(50, 1, 0, 0);
  x.enter(0, 60);
  REQUIRE(times_of(x) == std::vector<std::int64_t>{0, 30});
}

TEST_CASE("stage clock: in a row with many changes the beginning stands for all of it") {
  stage_clock x;
  x.prepare(2, {});
  x.begin(0);
  std::int64_t now = 0;
  for (int i = 0; i < 1'000; ++i) {
    x.enter(0, now += 1);
    x.enter(1, now += 3);
  }
  x.end(now += 1, 1, 0, 0);
  const auto total = times_of(x);
  REQUIRE(total[0] > 2 * total[1]);                   // 3 to 1
  REQUIRE(total[0] + total[1] + total[2] >= now - 3); // rounding, one per stage
  REQUIRE(total[0] + total[1] + total[2] <= now);
}

} // namespace leat::test::stage_clock_test
