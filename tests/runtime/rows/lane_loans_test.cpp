#include "runtime/rows/lane_loans.hpp"
#include "tests/support/borrowed_lanes.hpp"
#include "tests/support/late_records.hpp"
#include "tests/support/test.hpp"

namespace leat::lane_loans_test {
namespace {

/// More workers than lanes, so that they share probes.
constexpr std::size_t many = 100;

TEST_CASE("lane_loans: a lane that is lent is not touched, and then hears of all that came") {
  borrowed_lanes x{probed(4, 1)};
  auto turn = x.lend(many);
  x.run(*turn);
  x.loans.close_turns(*turn);
  const auto one = x.probe(1);
  const auto others = x.probe(2);
  x.run(*one);
  x.run(*others);
  x.loans.close_probe(*one);
  turn = x.lend(many);
  REQUIRE(x.loans.any_is_lent());
  x.run(*turn);
  x.loans.close_probe(*others);
  x.loans.wake();
  CHECK_FALSE(x.probe(64));
  CHECK_FALSE(x.lend(many));
  CHECK_FALSE(x.lanes[0]->round().is_stale());
  CHECK(x.items(0) == std::vector<std::uint64_t>{0});
  x.loans.close_turns(*turn);
  CHECK_FALSE(x.loans.any_is_lent());
  CHECK(x.lanes[0]->round().is_stale());
  turn = x.lend(many);
  x.run(*turn);
  CHECK(x.items(0) == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("lane_loans: an epoch begins for a lane that is lent when it comes back") {
  borrowed_lanes x{probed(4, 2)};
  x.run_all(1);
  item taken;
  lap when;
  x.lanes[0]->round().take_front(taken, when);
  const auto turn = x.lend(1);
  REQUIRE(turn->num_rows() == 1);
  x.loans.begin(3);
  x.loans.begin(5);
  CHECK(x.lanes[0]->round().items().front().when == lap{0, 0});
  CHECK(x.lanes[1]->round().items().front().when == lap{5, 0});
  x.run(*turn);
  x.loans.close_turns(*turn);
  x.run_all(1);
  for (const auto& lane : x.lanes) {
    CHECK(lane->round().items().front().when == lap{5, 0});
    CHECK(lane->round().items().front().number == 0);
  }
}

TEST_CASE("lane_loans: a record that comes while its lane is lent is not missed") {
  for (const bool is_heard : {true, false}) {
    CAPTURE(is_heard);
    const auto records = std::make_shared<late_records>(1);
    borrowed_lanes x{once(records).batch(1)};
    records->on_change([&] {
      if (is_heard)
        x.loans.wake();
    });
    auto turn = x.lend(1);
    x.run(*turn); // the record comes after the lane has asked for it
    if (is_heard)
      x.loans.wake(); // perhaps of another one
    CHECK_FALSE(x.lanes[0]->round().is_stale());
    x.loans.close_turns(*turn);
    CHECK(x.loans.waits_for_feed());
    turn = x.lend(1);
    REQUIRE((turn != nullptr) == is_heard); // otherwise it would be lent again and again
    if (!is_heard) {
      x.loans.wake();
      turn = x.lend(1);
    }
    x.run(*turn);
    x.loans.close_turns(*turn);
    CHECK_FALSE(x.loans.waits_for_feed());
    CHECK(x.items(0).size() == 1);
  }
}

TEST_CASE("lane_loans: lanes come back in any order") {
  borrowed_lanes x{probed(20, 2)};
  x.run_all(1);
  std::vector<std::unique_ptr<batch_slot>> turns;
  item taken;
  lap when;
  for (const auto& lane : x.lanes) {
    lane->round().take_front(taken, when);
    turns.push_back(x.lend(1));
    REQUIRE(turns.back()->num_rows() == 1);
    CHECK(turns.back()->request(0).lane == lane);
  }
  for (const std::size_t i : {1, 0}) {
    CHECK(x.loans.any_is_lent());
    x.run(*turns[i]);
    x.loans.close_turns(*turns[i]);
  }
  CHECK_FALSE(x.loans.any_is_lent());
}

TEST_CASE("lane_loans: a turn that fails leaves the lane what it had, and nothing after it") {
  constexpr std::uint64_t all = 10;
  for (const std::uint64_t probed_before : {0, 1, 3, 4}) {
    CAPTURE(probed_before);
    borrowed_lanes x{probed(2 * all, 2)};
    const auto turns = x.lend(1);
    auto& lane = *x.lanes[1];
    call_record calls;
    lane.run(100, calls);
    for (std::uint64_t i = 0; i < probed_before; ++i) {
      REQUIRE(lane.begin_probe());
      row_result found = passing();
      lane.end_probe(found);
    }
    (void)lane.begin_probe(); // of the fifth item there is none yet: the run itself fails
    (void)x.worker->run(*turns, 0, 1);
    turns->result(1).failure = error(errc::worker_lost, {.stage = "worker"});
    turns->finish(1);
    x.loans.close_turns(*turns);
    x.run_all(1);
    CHECK(x.items(0).size() == all);
    CHECK_FALSE(x.lanes[0]->round().failure());
    CHECK(x.items(1).size() == (probed_before < 4 ? probed_before : 0));
    REQUIRE(lane.round().failure());
    CHECK(lane.round().failure()->code() == errc::worker_lost);
    x.loans.begin(1); // which is not to blame
    x.run_all(1);
    CHECK(x.items(1, 1).size() == all);
  }
}

TEST_CASE("lane_loans: workers share probes only where there are fewer lanes than workers") {
  for (const std::size_t workers : {1, 2, 3}) {
    CAPTURE(workers);
    borrowed_lanes x{probed(20, 2)};
    const auto turns = x.lend(workers);
    x.run(*turns);
    x.loans.close_turns(*turns);
    CHECK((x.items(0).size() > 0) == (workers <= 2));
    if (workers > 2)
      CHECK(x.probe(64));
  }
}

} // namespace
} // namespace leat::lane_loans_test
