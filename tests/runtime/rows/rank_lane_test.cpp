#include "runtime/rows/rank_lane.hpp"
#include "tests/support/borrowed_lanes.hpp"
#include "tests/support/test.hpp"

#include <leat/functions.hpp>

namespace leat::rank_lane_test {
namespace {

TEST_CASE("rank_lane: a run that is cut short is to be continued, and loses nothing") {
  const auto data = count(400).filter(key_hash(10)).batch(2, {.lanes = 2, .end = epoch_end::mask});
  borrowed_lanes whole{data};
  borrowed_lanes x{data};
  auto& lane = *x.lanes[1];
  call_record calls;
  std::size_t cuts = 0;
  while (lane.wants_to_run(false))
    cuts += lane.run(3, calls) <= 0 ? 1 : 0;
  CHECK(cuts > 10);
  whole.run_all(1);
  CHECK(x.items(1).size() > 5);
  CHECK(x.items(1) == whole.items(1));
}

TEST_CASE("rank_lane: a probe that has begun is the next one until it ends") {
  borrowed_lanes x{probed(8, 2)};
  auto& lane = *x.lanes[1];
  call_record calls;
  CHECK_FALSE(lane.begin_probe());
  CHECK(lane.position() == 1);
  lane.run(100, calls);
  const auto all = lane.num_requests();
  REQUIRE(all == 4);
  for (std::uint64_t i = 0; i < all; ++i) {
    const auto* first = lane.begin_probe();
    REQUIRE(first);
    CHECK(first->position == 1 + 2 * i);
    CHECK(lane.position() == first->position);
    CHECK(lane.begin_probe() == first); // for another worker, after the death of one
    CHECK(lane.num_requests() == all - i);
    row_request other;
    CHECK(lane.take_request(other) == (i + 1 < all));
    if (i + 1 < all) {
      CHECK(other.position == first->position + 2);
      row_result found = passing();
      lane.put(other, found);
      ++i;
    }
    row_result found = passing();
    lane.end_probe(found);
  }
  CHECK(lane.num_requests() == 0);
  CHECK(lane.wants_to_run(true));
  lane.run(100, calls);
  CHECK(x.items(1) == std::vector<std::uint64_t>{0, 1, 2, 3});
}

TEST_CASE("rank_lane: who probes for it runs it for its requests, unless as many wait as may") {
  borrowed_lanes x{probed(100, 1)};
  auto& lane = *x.lanes[0];
  call_record calls;
  lane.run(100, calls);
  CHECK(lane.num_requests() > 0);
  CHECK(lane.wants_to_run(true));
  CHECK_FALSE(lane.wants_to_run(false));
  while (const auto turn = x.lend(1)) {
    x.run(*turn);
    x.loans.close_turns(*turn);
  }
  CHECK(lane.round().is_full());
  CHECK(lane.num_requests() > 0);
  CHECK_FALSE(lane.wants_to_run(true));
}

TEST_CASE("rank_lane: what an epoch's begin drops is not probed, nor missed when it was") {
  borrowed_lanes x{probed(8, 1)};
  auto& lane = *x.lanes[0];
  call_record calls;
  lane.run(100, calls);
  row_request asked;
  REQUIRE(lane.take_request(asked));
  lane.round().begin({1, 0});
  lane.run(100, calls);
  row_result found = passing();
  lane.put(asked, found);
  const auto* next = lane.begin_probe();
  REQUIRE(next);
  CHECK(next->when == lap{1, 0});
  CHECK(next->position == 0);
}

} // namespace
} // namespace leat::rank_lane_test
