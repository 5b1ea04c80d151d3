#include "runtime/rows/row_worker.hpp"
#include "tests/support/borrowed_lanes.hpp"
#include "tests/support/test.hpp"

// Turns of lanes. tests/actors/worker_test.cpp has the rows of batches.

namespace leat::row_worker_test {
namespace {

using verdict = row_worker::verdict;

TEST_CASE("row_worker: turns are the batch's rows, one owner each, with times of their own") {
  borrowed_lanes x{probed(40, 3)};
  const auto turns = x.lend(1);
  REQUIRE(turns->num_rows() == 3);
  CHECK(x.worker->run(*turns, std::vector<std::uint32_t>{2}) == verdict::going_on);
  CHECK(x.items(2).size() == 4);
  CHECK(x.items(0).empty());
  CHECK(x.worker->run(*turns, 0, 2) == verdict::complete);
  CHECK(x.items(1).size() == 4);
  const auto& record = *x.worker->record;
  CHECK(record.iterating_ns > 0);
  CHECK(record.busy_ns >= record.iterating_ns);
  CHECK(record.rows_done == 0);
  CHECK(record.rows_dealt == 0);
}

TEST_CASE("row_worker: a lane keeps the item that a worker died over for the heir") {
  borrowed_lanes x{probed(16, 2)};
  const auto turns = x.lend(1);
  constexpr std::uint64_t position =
      3; // or the next one of a lane: 4 in the first, 3 in the second
  for (const std::size_t lane : {0, 1}) {
    REQUIRE(x.new_worker(position)->run(*turns, lane, 2) == verdict::dead);
    CHECK(turns->holder(lane).state == row_holder::phase::begun);
    CHECK(x.lanes[lane]->position() == position + 1 - lane);
    CHECK(x.items(lane).empty());
    CHECK_FALSE(turns->complete());
    (void)x.worker->run(*turns, lane, lane + 1);
  }
  CHECK(turns->complete());
  x.loans.close_turns(*turns);
  x.run_all(1);
  for (const std::size_t lane : {0, 1})
    CHECK(x.items(lane) == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("row_worker: deaths are those over one item, not over one turn") {
  borrowed_lanes x{probed(40, 1)};
  const auto turns = x.lend(1);
  auto& deaths = turns->holder(0).deaths;
  for (std::uint64_t item = 0; item < 4; ++item) {
    CAPTURE(item);
    REQUIRE(x.new_worker(item)->run(*turns, 0, 1) == verdict::dead);
    CHECK(x.lanes[0]->position() == item);
    CHECK(deaths == 0); // the one before is done
    deaths = 1;
    REQUIRE(x.new_worker(item)->run(*turns, 0, 1) == verdict::dead);
    CHECK(deaths == 1); // it is over the same one
  }
}

TEST_CASE("row_worker: a job that is cancelled leaves a turn undone") {
  const auto probes = std::make_shared<int>(0);
  const auto cancelled = std::make_shared<std::atomic<bool>*>(nullptr);
  const filter_stage second{.name = "second@1", .make = [=] {
                              return [=](sample&) {
                                **cancelled = ++*probes == 2;
                                return true;
                              };
                            }};
  borrowed_lanes x{count(40).filter(second).batch(2, {.lanes = 2, .end = epoch_end::mask})};
  *cancelled = x.plan->cancelled.get();
  const auto turns = x.lend(1);
  CHECK(x.worker->run(*turns, 0, 2) == verdict::cancelled);
  CHECK(*probes == 2);
  CHECK_FALSE(turns->complete());
  CHECK(turns->holder(0).state == row_holder::phase::begun);
  CHECK(turns->holder(1).state == row_holder::phase::dealt);
}

} // namespace
} // namespace leat::row_worker_test
