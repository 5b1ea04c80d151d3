#include "runtime/lending/lender_state.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/test.hpp"

namespace leat::lender_state_test {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t window = 10'000;

using phase = row_holder::phase;

std::shared_ptr<batch_slot> a_slot(std::size_t rows) {
  auto slot = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), rows);
  open_rows(*slot, rows, true);
  return slot;
}

/// Rows of an offer, as numbers.
std::vector<std::uint32_t> rows_of(const lender_state::offer& x) {
  std::vector<std::uint32_t> rows;
  for (const auto& place : x.rows)
    rows.push_back(place.row);
  return rows;
}

std::vector<std::uint32_t> rows_of(const std::vector<row_place>& x) {
  std::vector<std::uint32_t> rows;
  for (const auto& place : x)
    rows.push_back(place.row);
  return rows;
}

lender_settings small() {
  return {.budget = 8000, .most_offer_bytes = 4000, .row_bytes = 1000};
}

TEST_CASE("lender_state: rows go from the back, one at first, until the helper has its offers") {
  lender_state x{small()};
  const auto slot = a_slot(10);
  x.opened(slot);
  REQUIRE_FALSE(x.next_offer(0));
  x.join(1, window, 1, 0);
  const auto first = x.next_offer(0);
  REQUIRE(first);
  REQUIRE(first->link == 1);
  REQUIRE(rows_of(*first) == std::vector<std::uint32_t>{9});
  REQUIRE(slot->holder(9).state == phase::lent);
  REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{8});
  REQUIRE_FALSE(x.next_offer(0)); // two offers for a core
  REQUIRE(slot->claim(1, 10, 0, 99).end == 8);
}

TEST_CASE("lender_state: the first of answer and worker has a row, and the other nothing") {
  lender_state x{small()};
  const auto slot = a_slot(2);
  x.opened(slot);
  x.join(1, window, 1, 0);
  const auto a = *x.next_offer(0);
  const auto b = *x.next_offer(0);
  REQUIRE(slot->take_lent(1, a.rows[0].row));
  REQUIRE_FALSE(x.answered(1, a.number, 0, {ms, 10}, ms));
  REQUIRE(x.answered(1, b.number, 0, {ms, 10}, ms));
  REQUIRE_FALSE(slot->take_lent(1, b.rows[0].row));
  REQUIRE_FALSE(x.answered(1, b.number, 0, {ms, 10}, ms)); // said twice
  REQUIRE(x.counts().rows_received == 1);
  REQUIRE(x.under_way().bytes == 0);
  REQUIRE(x.under_way().rows == 0);
  REQUIRE(x.under_way().offers == 0);
}

TEST_CASE("lender_state: answers of other links, other offers and other openings are dropped") {
  lender_state x{small()};
  const auto slot = a_slot(1);
  x.opened(slot);
  x.join(1, window, 1, 0);
  x.join(2, window, 1, 0);
  const auto a = *x.next_offer(0);
  REQUIRE_FALSE(x.answered(3 - a.link, a.number, 0, {ms, 10}, ms));
  REQUIRE_FALSE(x.answered(a.link, a.number + 1, 0, {ms, 10}, ms));
  REQUIRE_FALSE(x.answered(a.link, a.number, 1, {ms, 10}, ms));
  REQUIRE(slot->take_lent(1, 0));
  slot->finish(0);
  slot->release();
  open_rows(*slot, 1, true);
  x.opened(slot);
  REQUIRE_FALSE(x.answered(a.link, a.number, 0, {ms, 10}, ms));
  REQUIRE(slot->holder(0).state == phase::dealt);
  REQUIRE(x.next_offer(0)); // the new one
}

TEST_CASE(
    "lender_state: a lost helper's rows are for others, here and there, and its window is whole") {
  lender_state x{small()};
  const auto slot = a_slot(4);
  x.opened(slot);
  x.join(1, window, 1, 0);
  const auto a = *x.next_offer(0);
  const auto b = *x.next_offer(0);
  x.lost(1);
  REQUIRE(x.under_way().bytes == 0);
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{3, 2});
  REQUIRE_FALSE(x.answered(1, a.number, 0, {ms, 10}, ms));
  x.join(2, window, 1, 0);
  REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{3});
  REQUIRE(slot->take_lent(1, 2)); // a worker was faster
  REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{1});
  REQUIRE(b.rows[0].row == 2);
}

TEST_CASE("lender_state: a row that was lost with three helpers is made here") {
  lender_state x{small()};
  const auto slot = a_slot(1);
  x.opened(slot);
  for (std::uint64_t link = 1; link <= 3; ++link) {
    x.join(link, window, 1, 0);
    REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{0});
    x.lost(link);
    REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{0});
  }
  x.join(4, window, 1, 0);
  REQUIRE_FALSE(x.next_offer(0));
  REQUIRE(slot->take_lent(1, 0));
}

TEST_CASE("lender_state: late rows are dealt again once, and not to the helper that is late") {
  auto settings = small();
  settings.patience = 100 * ms;
  settings.offer_time = 10 * ms;
  lender_state x{settings};
  const auto slot = a_slot(1);
  x.opened(slot);
  x.join(1, window, 1, 0);
  const auto a = *x.next_offer(0);
  const auto late = x.next_tick(0);
  REQUIRE(late == 130 * ms);
  REQUIRE(x.tick(late - 1).empty());
  REQUIRE(x.take_for_here().empty());
  REQUIRE(x.tick(late).empty());
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{0});
  (void)x.tick(late + ms);
  REQUIRE(x.take_for_here().empty());
  REQUIRE_FALSE(x.next_offer(late));
  x.join(2, window, 1, late);
  const auto b = *x.next_offer(late);
  REQUIRE(b.link == 2);
  REQUIRE(x.answered(1, a.number, 0, {ms, 10}, late)); // late, but the first
  REQUIRE_FALSE(x.answered(2, b.number, 0, {ms, 10}, late));
}

TEST_CASE("lender_state: a silent helper gets nothing, its rows go on, and then it is given up") {
  lender_state x{small()};
  const auto slot = a_slot(8);
  x.opened(slot);
  x.join(1, window, 1, 0);
  (void)x.next_offer(0);
  REQUIRE(x.tick(2000 * ms).empty());
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{7});
  REQUIRE_FALSE(x.next_offer(2000 * ms));
  x.heard(1, 2500 * ms);
  REQUIRE(x.next_offer(2500 * ms));
  REQUIRE(x.tick(12'500 * ms) == std::vector<std::uint64_t>{1});
}

TEST_CASE("lender_state: windows and the budget hold, and the first offer always goes") {
  lender_state x{{.budget = 3000, .most_offer_bytes = 9000, .row_bytes = 2000}};
  const auto slot = a_slot(30);
  x.opened(slot);
  x.join(1, 100, 4, 0); // less than a row
  REQUIRE(x.next_offer(0));
  REQUIRE_FALSE(x.next_offer(0));
  x.join(2, window, 4, 0);
  REQUIRE_FALSE(x.next_offer(0)); // the budget
  REQUIRE(x.under_way().bytes == 2000);
  x.lost(1);
  REQUIRE(x.next_offer(0));
  REQUIRE(x.bytes_under_way(2) == 2000);
}

TEST_CASE("lender_state: offers are as large as a core makes in their time") {
  lender_state x{{.offer_time = 30 * ms, .row_bytes = 100}};
  const auto slot = a_slot(1000);
  x.opened(slot);
  x.join(1, std::int64_t{1} << 30, 1, 0);
  const auto a = *x.next_offer(0);
  REQUIRE(x.answered(1, a.number, 0, {10 * ms, 100}, ms));
  REQUIRE(x.next_offer(ms)->rows.size() == 3);
}

TEST_CASE("lender_state: a declined row is made here, and its window is given back") {
  lender_state x{small()};
  const auto slot = a_slot(3);
  x.opened(slot);
  x.join(1, window, 1, 0);
  const auto a = *x.next_offer(0);
  x.declined(1, a.number, 0);
  x.declined(1, a.number, 0);
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{2});
  REQUIRE(x.counts().rows_declined == 1);
  REQUIRE(x.under_way().bytes == 0);
  REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{1});
}

TEST_CASE("lender_state: an answer that is no row is for others") {
  lender_state x{small()};
  const auto slot = a_slot(1);
  x.opened(slot);
  x.join(1, window, 1, 0);
  const auto a = *x.next_offer(0);
  const auto row = x.answered(1, a.number, 0, {ms, 10}, ms);
  REQUIRE(row);
  x.put_back(*row);
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{0});
  REQUIRE(slot->take_lent(1, 0));
}

TEST_CASE("lender_state: probes go first, then the newest batch") {
  lender_state x{small()};
  const auto old = a_slot(2);
  const auto probe = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 1);
  open_rows(*probe, 1, true, 0, {.what = batch_plan::kind::probe});
  const auto newest = a_slot(2);
  x.opened(old);
  x.opened(probe);
  x.opened(newest);
  x.join(1, window, 9, 0);
  REQUIRE(x.next_offer(0)->rows[0].slot == probe);
  REQUIRE(x.next_offer(0)->rows[0].slot == newest);
  REQUIRE(x.next_offer(0)->rows[0].slot == newest);
  REQUIRE(x.next_offer(0)->rows[0].slot == old);
}

} // namespace
} // namespace leat::lender_state_test
