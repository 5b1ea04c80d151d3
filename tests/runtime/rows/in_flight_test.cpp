#include "runtime/base/threads/listener.hpp"
#include "runtime/rows/in_flight.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::in_flight_test {
namespace {

using phase = row_holder::phase;

const auto one_field =
    std::make_shared<batch_layout>(std::vector<field_layout>{{.name = "x", .dims = {2}}});

/// A slot with an open batch of `rows` rows.
std::shared_ptr<batch_slot> open_slot(std::size_t rows, bool claimable) {
  auto slot = std::make_shared<batch_slot>(one_field, rows);
  slot->reserve();
  open_rows(*slot, rows, claimable, 100);
  return slot;
}

void give(batch_slot& slot, std::size_t row, std::uint32_t worker) {
  slot.holder(row).owner = worker + 1;
}

/// Ends a batch of one row, and reserves its slot for another.
void hand_over(batch_slot& slot) {
  slot.finish(0);
  slot.close();
  slot.release();
  slot.reserve();
}

using rows_t = std::vector<std::uint32_t>;

TEST_CASE("in_flight: batches are forgotten once they are complete") {
  in_flight x;
  auto first = open_slot(1, false);
  auto second = open_slot(1, false);
  x.begin(first);
  x.begin(second);
  second->finish(0);
  x.begin(open_slot(1, false));
  CHECK(x.size() == 2);
  CHECK(second.use_count() == 1);
  CHECK(first.use_count() == 2);
  CHECK_FALSE(x.take_aside());
}

TEST_CASE("in_flight: a slot that is opened again is held once") {
  in_flight x;
  const std::vector<std::shared_ptr<batch_slot>> slots{open_slot(1, true), open_slot(1, true)};
  for (const auto& slot : slots)
    x.begin(slot);
  for (int i = 0; i < 10; ++i)
    for (const auto& slot : slots) { // while the other one is made
      hand_over(*slot);
      open_rows(*slot, 1, true);
      x.begin(slot);
      CHECK(x.size() == 2);
    }
  CHECK(x.lost(0, 1).size() == 2);
}

TEST_CASE("in_flight: probes are kept until they are taken, in any order") {
  in_flight x;
  std::vector<std::shared_ptr<batch_slot>> slots;
  for (int i = 0; i < 3; ++i) {
    slots.push_back(std::make_shared<batch_slot>(one_field, 1));
    open_rows(*slots.back(), 1, false, 100, {.what = batch_plan::kind::probe});
    x.begin(slots.back());
  }
  slots[2]->finish(0);
  slots[1]->finish(0);
  x.begin(open_slot(1, false));
  CHECK(x.take_aside() == slots[1]);
  CHECK(x.take_aside() == slots[2]);
  CHECK_FALSE(x.take_aside());
  give(*slots[0], 0, 4);
  CHECK(x.lost(4, 5).at(0).rows == rows_t{0});
  CHECK_FALSE(x.lost(5, 6).at(0).is_batch);
}

TEST_CASE("in_flight: a batch that was handed over and is reserved anew has no rows to pass on") {
  in_flight x;
  auto slot = open_slot(1, true);
  x.begin(slot);
  give(*slot, 0, 0);
  hand_over(*slot);
  CHECK(x.lost(0, 1).empty());
}

TEST_CASE("in_flight: an heir gets exactly the rows that the dead worker had not finished") {
  constexpr std::uint32_t dead = 3;
  constexpr std::uint32_t other = 4;
  constexpr std::uint32_t heir = 9;
  constexpr std::size_t rows = 4;
  // Every combination of four states per row: dealt, begun or done by the dead worker, or
  // another's.
  for (int mix = 0; mix < 256; ++mix) {
    CAPTURE(mix);
    in_flight x;
    auto slot = open_slot(rows, false);
    x.begin(slot);
    rows_t unfinished;
    for (std::size_t i = 0; i < rows; ++i) {
      const int state = mix >> (2 * i) & 3;
      give(*slot, i, state == 3 ? other : dead);
      if (state == 1)
        slot->holder(i).state = phase::begun;
      if (state == 2)
        slot->finish(i);
      if (state < 2)
        unfinished.push_back(static_cast<std::uint32_t>(i));
    }
    auto chunks = x.lost(dead, heir);
    REQUIRE(chunks.size() == (unfinished.empty() ? 0 : 1));
    for (const auto& chunk : chunks) {
      REQUIRE(chunk.slot == slot);
      REQUIRE(chunk.ticket == slot->ticket());
      REQUIRE(chunk.rows == unfinished);
      REQUIRE_FALSE(chunk.claims);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const int state = mix >> (2 * i) & 3;
      const bool inherited = state < 2;
      REQUIRE(slot->holder(i).owner == (inherited ? heir : state == 3 ? other : dead) + 1);
      REQUIRE(slot->holder(i).deaths == (state == 1 ? 1U : 0U));
      if (inherited)
        REQUIRE(slot->holder(i).state == phase::dealt);
    }
    REQUIRE(x.lost(dead, heir).empty()); // nothing is dealt twice
  }
}

TEST_CASE("in_flight: where rows are claimed the heir joins in every open batch") {
  in_flight x;
  auto begun = open_slot(3, true);
  auto untouched = open_slot(3, true);
  auto complete = open_slot(1, true);
  for (const auto& slot : {begun, untouched, complete})
    x.begin(slot);
  begun->claim(begun->ticket(), 3, 0, 1);
  begun->holder(0).state = phase::begun;
  begun->claim(begun->ticket(), 3, 1, 1);
  complete->claim(complete->ticket(), 1, 0, 1);
  complete->finish(0);
  auto chunks = x.lost(0, 2);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].slot == begun);
  CHECK(chunks[0].rows == rows_t{0});
  CHECK(chunks[0].claims);
  CHECK(chunks[0].limit == 3);
  CHECK(chunks[1].slot == untouched);
  CHECK(chunks[1].rows.empty());
  CHECK(chunks[1].claims);
}

TEST_CASE("in_flight: the second death over a row fails the row, and the batch still completes") {
  in_flight x;
  auto slot = open_slot(2, false);
  x.begin(slot);
  give(*slot, 0, 0);
  give(*slot, 1, 0);
  slot->holder(0).state = phase::begun;
  CHECK(x.lost(0, 1).at(0).rows == rows_t{0, 1});
  slot->holder(0).state = phase::begun;
  CHECK(x.lost(1, 2).at(0).rows == rows_t{1});
  CHECK_FALSE(slot->complete());
  slot->finish(1);
  slot->close();
  CHECK(slot->plan().what == batch_plan::kind::failed);
  REQUIRE(slot->plan().failure);
  CHECK(slot->plan().failure->code() == errc::worker_lost);
  CHECK(std::string{slot->plan().failure->what()}
        == "worker lost: worker, sample at position 100, got 2 workers that died while they made "
           "it, needed at most 1");
}

TEST_CASE("in_flight: a row that is given up may be the one that completes its batch") {
  in_flight x;
  auto slot = open_slot(1, true);
  x.begin(slot);
  for (std::uint32_t worker : {0, 1}) {
    give(*slot, 0, worker);
    slot->holder(0).state = phase::begun;
    const auto chunks = x.lost(worker, worker + 1);
    CHECK(chunks.size() == (worker == 0 ? 1 : 0));
  }
  CHECK(slot->complete());
}

TEST_CASE("in_flight: deaths between rows do not count against them") {
  in_flight x;
  auto slot = open_slot(1, false);
  x.begin(slot);
  give(*slot, 0, 0);
  for (std::uint32_t worker = 0; worker < 5; ++worker)
    REQUIRE(x.lost(worker, worker + 1).at(0).rows == rows_t{0});
}

TEST_CASE("in_flight: rows that are lent are passed on, each for whoever is first") {
  in_flight x;
  auto slot = open_slot(4, true);
  x.begin(slot);
  REQUIRE(slot->claim_last(slot->ticket(), 4, 2).size() == 2);
  give(*slot, 0, 0);
  slot->holder(0).state = phase::begun;
  const auto hears = std::make_shared<listener>([] {});
  const auto chunks = x.lost(0, 1, hears);
  REQUIRE(chunks.size() == 2);
  CHECK(chunks[0].rows == rows_t{0});
  CHECK(chunks[0].claims);
  CHECK_FALSE(chunks[0].are_lent);
  CHECK_FALSE(chunks[0].taken);
  CHECK(chunks[1].rows == rows_t{2, 3});
  CHECK(chunks[1].are_lent);
  CHECK_FALSE(chunks[1].claims);
  CHECK(chunks[1].taken == hears);
  REQUIRE(slot->take_lent(slot->ticket(), 3)); // nobody lost anything by that
}

} // namespace
} // namespace leat::in_flight_test
