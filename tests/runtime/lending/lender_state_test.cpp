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
  REQUIRE(x.tick(late - 1).dead.empty());
  REQUIRE(x.take_for_here().empty());
  REQUIRE(x.tick(late).dead.empty());
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

TEST_CASE(
    "lender_state: a row that workers have passed over is dealt again when a helper is lost") {
  lender_state x{small()};
  const auto slot = a_slot(1);
  x.opened(slot);
  x.join(1, window, 1, 0);
  (void)x.next_offer(0);
  (void)x.tick(1000 * ms); // it is late, and stays so
  REQUIRE(x.take_for_here().size() == 1);
  x.heard(1, 1000 * ms);
  x.join(2, window, 1, 1000 * ms);
  const auto again = *x.next_offer(1000 * ms);
  REQUIRE(again.link == 2);
  REQUIRE(again.rows[0].is_dealt_here); // so whoever reads its request deals it once more
  x.lost(2);
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{0});
}

TEST_CASE("lender_state: a row that the first in line is late with is for the next one") {
  lender_state x{small()};
  const auto slot = a_slot(2);
  x.opened(slot);
  x.join(2, window, 1, 0);
  REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{1});
  x.join(1, window, 8, 0);
  REQUIRE(rows_of(*x.next_offer(0)) == std::vector<std::uint32_t>{0});
  (void)x.tick(1000 * ms);
  const auto a = *x.next_offer(1000 * ms);
  REQUIRE((a.link == 1 && rows_of(a) == std::vector<std::uint32_t>{1}));
  const auto b = x.next_offer(1000 * ms); // the first still has the most room
  REQUIRE(b);
  REQUIRE((b->link == 2 && rows_of(*b) == std::vector<std::uint32_t>{0}));
}

TEST_CASE("lender_state: what was sent counts in the window until the whole offer is answered") {
  lender_state x{
      {.budget = 100'000, .most_offer_bytes = 9000, .offer_time = 30 * ms, .row_bytes = 1000}};
  const auto slot = a_slot(40);
  x.opened(slot);
  x.join(1, window, 4, 0);
  const auto first = *x.next_offer(0);
  x.sent(first, {.bytes = 6000, .time = 2 * ms}, 0);
  REQUIRE(x.under_way(1).bytes == 7000);
  REQUIRE_FALSE(x.next_offer(0)); // one more would take as much
  REQUIRE(x.answered(1, first.number, 0, {ms, 1000}, ms));
  REQUIRE(x.under_way(1).bytes == 0);
  REQUIRE(x.under_way().bytes == 0);
  REQUIRE(x.next_offer(ms)->rows.size() == 1); // only one of 7000 fits
}

TEST_CASE("lender_state: an offer is no larger than what the rank reads in its time") {
  lender_state x{{.offer_time = 30 * ms, .row_bytes = 100}};
  const auto slot = a_slot(1000);
  x.opened(slot);
  x.join(1, std::int64_t{1} << 30, 1, 0);
  const auto a = *x.next_offer(0);
  x.sent(a, {.bytes = 100, .time = 15 * ms}, 0);
  REQUIRE(x.answered(1, a.number, 0, {ms, 100}, ms));
  REQUIRE(x.next_offer(ms)->rows.size() == 2);
}

TEST_CASE("lender_state: rows without room in their offer are for others, here and there") {
  lender_state x{{.offer_time = 30 * ms, .row_bytes = 100}};
  const auto slot = a_slot(100);
  x.opened(slot);
  x.join(1, std::int64_t{1} << 30, 1, 0);
  const auto a = *x.next_offer(0);
  REQUIRE(x.answered(1, a.number, 0, {10 * ms, 100}, ms));
  const auto b = *x.next_offer(ms);
  REQUIRE(rows_of(b) == std::vector<std::uint32_t>{96, 97, 98});
  x.sent(b, {.bytes = 300, .unsent = {1}, .declined = {2}}, ms);
  REQUIRE(x.under_way(1).bytes == 400);
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{98, 97});
  REQUIRE(x.counts().rows_lent == 3);
  REQUIRE(x.counts().rows_declined == 1);
  x.join(2, std::int64_t{1} << 30, 1, ms);
  REQUIRE(rows_of(*x.next_offer(ms)) == std::vector<std::uint32_t>{97});
}

TEST_CASE("lender_state: a helper that makes nothing has a row now and then, until it makes one") {
  lender_state x{small()};
  const auto slot = a_slot(100);
  x.opened(slot);
  x.join(1, window, 1, 0);
  std::int64_t now = 0;
  std::vector<std::int64_t> rests;
  for (int i = 0; i < 30; ++i) {
    auto made = x.next_offer(now);
    if (const auto begin = now; !made) {
      now = x.next_tick(now);
      x.heard(1, now);
      while (!(made = x.next_offer(now)))
        x.heard(1, now = x.next_tick(now));
      rests.push_back((now - begin) / ms);
    }
    REQUIRE(made->rows.size() == 1);
    x.declined(1, made->number, 0, now);
  }
  REQUIRE(rests.size() == 22); // after the first eight
  REQUIRE(std::vector<std::int64_t>(rests.begin(), rests.begin() + 4)
          == std::vector<std::int64_t>{10, 20, 40, 80});
  REQUIRE(rests.back() == 10'000);
  now += 10'000 * ms;
  x.heard(1, now);
  const auto last = x.next_offer(now);
  REQUIRE(x.answered(1, last->number, 0, {ms, 10}, now));
  const auto a = *x.next_offer(now);
  x.declined(1, a.number, 0, now);
  REQUIRE(x.next_offer(now)); // at once
}

TEST_CASE("lender_state: a silent helper gets nothing, its rows go on, and then it is given up") {
  lender_state x{small()};
  const auto slot = a_slot(8);
  x.opened(slot);
  x.join(1, window, 1, 0);
  (void)x.next_offer(0);
  REQUIRE(x.tick(2000 * ms).dead.empty());
  REQUIRE(rows_of(x.take_for_here()) == std::vector<std::uint32_t>{7});
  REQUIRE_FALSE(x.next_offer(2000 * ms));
  x.heard(1, 2500 * ms);
  REQUIRE(x.next_offer(2500 * ms));
  REQUIRE(x.tick(12'500 * ms).dead == std::vector<std::uint64_t>{1});
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
  REQUIRE(x.under_way(2).bytes == 2000);
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
  x.declined(1, a.number, 0, 0);
  x.declined(1, a.number, 0, 0);
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
  const auto of_probe = *x.next_offer(0);
  const auto of_batch = *x.next_offer(0);
  REQUIRE(of_probe.rows[0].slot == probe);
  REQUIRE(of_batch.rows[0].slot == newest);
  REQUIRE(x.next_offer(0)->rows[0].slot == newest);
  REQUIRE(x.next_offer(0)->rows[0].slot == old);
  REQUIRE(x.answered(1, of_probe.number, 0, {ms, 10}, ms));
  REQUIRE(x.counts().rows_received == 0); // it is in no batch
  REQUIRE(x.answered(1, of_batch.number, 0, {ms, 10}, ms));
  REQUIRE(x.counts().rows_received == 1);
}

TEST_CASE("lender_state: rows that cost more to lend than they are worth stay here, probes go") {
  const bool weighs = GENERATE(true, false);
  auto settings = small();
  settings.weighs_costs = weighs;
  lender_state x{settings};
  made_here sum;
  for (int i = 0; i < 10; ++i) {
    x.costs().made(sum = {.batches = {sum.batches.rows + 10, sum.batches.time + 1000},
                          .probes = {sum.probes.rows + 10, sum.probes.time + 1000}});
    x.costs().sent(lent_form::items, 1);
    x.costs().received(true, 60);
    x.costs().received(false, 10);
  }
  const auto slot = a_slot(2);
  const auto probe = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 1);
  open_rows(*probe, 1, true, 0, {.what = batch_plan::kind::probe});
  x.opened(slot);
  x.opened(probe);
  x.join(1, window, 9, 0);
  REQUIRE(x.next_offer(0)->rows[0].slot == probe);
  const auto row = x.next_offer(0);
  REQUIRE(row.has_value() == !weighs);
  REQUIRE(x.counts().not_lent.empty() == !weighs);
  if (!weighs)
    return;
  REQUIRE(slot->num_unclaimed(slot->ticket(), 2) == 2);
  REQUIRE(x.next_offer(lending_costs::between_trials)->rows.size() == 1);
  REQUIRE_FALSE(x.next_offer(lending_costs::between_trials));
}

TEST_CASE(
    "lender_state: a trial that finds no rows of its kind does not keep others from helpers") {
  lender_state x{small()};
  made_here sum;
  for (int i = 0; i < 10; ++i) {
    x.costs().made(sum = {.batches = {sum.batches.rows + 10, sum.batches.time + 1000},
                          .probes = {sum.probes.rows + 10, sum.probes.time + 1000}});
    x.costs().sent(lent_form::items, 1);
    x.costs().received(true, 10);
    x.costs().received(false, 60);
  }
  const auto slot = a_slot(9);
  x.opened(slot);
  x.join(1, window, 9, 0);
  REQUIRE(x.next_offer(0)); // from now on it is known when probes are tried
  constexpr auto later = lending_costs::between_trials;
  REQUIRE(x.next_offer(later)->rows[0].slot == slot); // there is no probe
  const auto probe = std::make_shared<batch_slot>(std::make_shared<batch_layout>(), 1);
  open_rows(*probe, 1, true, 0, {.what = batch_plan::kind::probe});
  x.opened(probe);
  REQUIRE(x.next_offer(later)->rows[0].slot == probe); // the trial still was due
}

TEST_CASE("lender_state: a late offer that nobody wants is cancelled once, and then answered") {
  auto settings = small();
  settings.offer_time = 10 * ms;
  lender_state x{settings};
  const auto slot = a_slot(1);
  x.opened(slot);
  x.join(1, window, 1, 0);
  const auto a = *x.next_offer(0);
  REQUIRE(x.tick(ms).not_wanted.empty());
  REQUIRE(x.tick(1000 * ms).not_wanted.empty()); // late, and nobody has it yet
  const bool is_made_here = GENERATE(true, false);
  if (is_made_here) {
    REQUIRE(slot->take_lent(slot->ticket(), 0));
  } else { // by another helper
    x.join(2, window, 1, 1000 * ms);
    const auto b = *x.next_offer(1000 * ms);
    REQUIRE(x.answered(2, b.number, 0, {ms, 10}, 1000 * ms));
  }
  const auto told = x.tick(1001 * ms).not_wanted;
  REQUIRE(told.size() == 1);
  REQUIRE(told.at(1) == std::vector{a.number});
  REQUIRE(x.tick(1002 * ms).not_wanted.empty());
  REQUIRE(x.under_way(1).bytes > 0); // the helper may still have it
  x.declined(1, a.number, 0, 1003 * ms);
  REQUIRE(x.under_way(1).bytes == 0);
  REQUIRE(x.under_way(1).offers == 0);
  REQUIRE(x.counts().rows_declined == 0);
  REQUIRE(x.take_for_here().size() == 1); // when it was late
}

TEST_CASE("lender_state: an offer is cancelled at once when a worker takes a row that was lost") {
  lender_state x{small()};
  const auto slot = a_slot(1);
  x.opened(slot);
  x.join(1, window, 1, 0);
  x.join(2, window, 1, 0);
  const auto a = *x.next_offer(0);
  x.lost(a.link);
  const auto b = *x.next_offer(0);
  REQUIRE(x.tick(ms).not_wanted.empty());
  REQUIRE(slot->take_lent(slot->ticket(), 0));
  REQUIRE(x.tick(ms).not_wanted.at(b.link) == std::vector{b.number});
  REQUIRE(x.tick(1000 * ms).not_wanted.empty());
  REQUIRE(x.take_for_here().size() == 1); // when it was lost
  x.declined(b.link, b.number, 0, 1000 * ms);
  REQUIRE(x.under_way().offers == 0);
  REQUIRE(x.counts().rows_declined == 0);
}

TEST_CASE("lender_state: more cancelled offers than a note names have another one at once") {
  lender_state x{{.most_offer_bytes = 4000, .row_bytes = 1}};
  constexpr std::size_t rows = 1500;
  const auto slot = a_slot(rows);
  x.opened(slot);
  x.join(1, std::int64_t{1} << 30, rows, 0);
  for (std::size_t i = 0; i < rows; ++i)
    REQUIRE(x.next_offer(0)->rows.size() == 1);
  for (std::size_t i = 0; i < rows; ++i)
    REQUIRE(slot->take_lent(slot->ticket(), i));
  REQUIRE(x.tick(ms).not_wanted.at(1).size() == 1000);
  REQUIRE(x.next_tick(ms) == ms);
  REQUIRE(x.tick(ms).not_wanted.at(1).size() == 500);
  REQUIRE(x.next_tick(ms) > ms);
}

TEST_CASE("lender_state: offers are cancelled only as a whole, and rows that are made count") {
  lender_state x{{.offer_time = 30 * ms, .row_bytes = 100}};
  const auto slot = a_slot(100);
  x.opened(slot);
  x.join(1, std::int64_t{1} << 30, 1, 0);
  const auto a = *x.next_offer(0);
  REQUIRE(x.answered(1, a.number, 0, {10 * ms, 100}, ms));
  const auto b = *x.next_offer(ms);
  REQUIRE(b.rows.size() == 3);
  (void)x.tick(1900 * ms);
  REQUIRE(slot->take_lent(slot->ticket(), b.rows[0].row));
  REQUIRE(x.answered(1, b.number, 1, {10 * ms, 100}, 1900 * ms));
  REQUIRE(x.tick(1901 * ms).not_wanted.empty());
  REQUIRE(slot->take_lent(slot->ticket(), b.rows[2].row));
  REQUIRE(x.tick(1902 * ms).not_wanted.at(1) == std::vector{b.number});
  REQUIRE_FALSE(x.answered(1, b.number, 0, {10 * ms, 100}, 1903 * ms)); // it was made all the same
  x.declined(1, b.number, 2, 1903 * ms);
  REQUIRE(x.under_way(1).bytes == 0);
  // What is so slow gets less at a time.
  x.heard(1, 1903 * ms);
  REQUIRE(x.next_offer(1903 * ms)->rows.size() == 1);
}

TEST_CASE("lender_state: a helper that hangs has few rows, and none is late later than the first") {
  lender_state x{{.offer_time = 10 * ms}};
  constexpr std::int64_t late_after = 130 * ms;
  x.join(1, window, 1, 0);
  std::int64_t now = 0;
  int offers = 0;
  while (now < 100'000 * ms) {
    const auto slot = a_slot(1);
    x.opened(slot);
    x.heard(1, now); // it says that it is there
    const auto offer = x.next_offer(now);
    now += offer ? late_after : 100 * ms; // or else it rests
    (void)x.tick(now);
    REQUIRE(x.take_for_here().size() == (offer ? 1 : 0));
    REQUIRE(slot->claim(slot->ticket(), 1, 0, 1).end == (offer ? 0 : 1));
    if (!offer)
      continue;
    ++offers;
    REQUIRE(slot->take_lent(slot->ticket(), 0));
    REQUIRE(x.tick(now).not_wanted.at(1) == std::vector{offer->number});
    x.declined(1, offer->number, 0, now);
  }
  REQUIRE(offers > 10);
  REQUIRE(offers < 40);
}

TEST_CASE("lender_state: a helper that is slower than workers here is waited for after a while") {
  lender_state x{{.offer_time = 10 * ms}};
  x.costs().made({.batches = {.rows = 10, .time = 10'000 * ms}});
  x.join(1, window, 1, 0);
  const auto factor = GENERATE(2, 5, 9); // the last one is too slow
  std::int64_t now = 0;
  int late = 0;
  bool is_answered = false;
  while (!is_answered && now < 1'000'000 * ms) {
    const auto slot = a_slot(1);
    x.opened(slot);
    const auto offer = x.next_offer(now);
    const auto end = now + (offer ? factor : 1) * 1000 * ms;
    bool is_made_here = !offer; // it rests
    for (; now < end && (!offer || !is_made_here); now = std::min(end, now + 10 * ms)) {
      x.heard(1, now);
      (void)x.tick(now);
      is_made_here = is_made_here || !x.take_for_here().empty();
    }
    if (!offer)
      continue;
    if (is_made_here) {
      ++late;
      REQUIRE(slot->take_lent(slot->ticket(), 0));
      REQUIRE(x.tick(now).not_wanted.at(1) == std::vector{offer->number});
      x.declined(1, offer->number, 0, now);
    } else {
      is_answered = x.answered(1, offer->number, 0, {factor * 1000 * ms, 10}, now).has_value();
    }
  }
  CAPTURE(factor, late);
  REQUIRE(late > 0);
  REQUIRE(is_answered == (factor < 9));
  if (is_answered)
    REQUIRE(late < 10);
}

} // namespace
} // namespace leat::lender_state_test
