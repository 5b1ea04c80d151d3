#include "runtime/order/lane_state.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/test.hpp"

namespace leat::batch_slot_test {
namespace {

constexpr std::size_t threads = 8;

/// "bytes" is ragged, "x" is u8 [2].
const auto two_fields = std::make_shared<batch_layout>(std::vector<field_layout>{
    {.name = "x", .dims = {2}},
    {.name = "bytes", .ragged = true},
});

void write(batch_slot& slot, std::size_t row, std::uint8_t value, const std::string& text) {
  batch_memory::row_memory fields;
  slot.memory().target(row, row == 0, fields);
  REQUIRE(fields.dense[0] == nullptr);
  REQUIRE(fields.ragged[1].in == nullptr);
  REQUIRE(fields.on_device.empty());
  std::memset(fields.dense[1], value, 2);
  const auto bytes = std::as_bytes(std::span{text.data(), text.size()});
  fields.ragged[0].assign(bytes);
  fields.ragged[0].complete();
}

std::vector<int> values_of_x(const batch_slot& slot) {
  std::vector<int> result;
  for (std::size_t i = 0; i < slot.memory().dense_bytes(1); ++i)
    result.push_back(std::to_integer<int>(slot.memory().dense(1)[i]));
  return result;
}

TEST_CASE("batch_slot: eight threads claim every row once, and one of them finishes the batch") {
  constexpr std::size_t rows = 1000;
  auto layout = std::make_shared<batch_layout>();
  for (int round = 0; round < 20; ++round) {
    batch_slot slot{layout, rows};
    open_rows(slot, rows);
    std::vector<std::atomic<int>> claimed(rows);
    std::atomic<int> finishers{0};
    std::vector<std::thread> workers;
    for (std::uint32_t id = 0; id < threads; ++id)
      workers.emplace_back([&, id] {
        while (auto mine = slot.claim(1, rows, id, 1 + id % 3)) {
          for (auto row = mine.first; row < mine.end; ++row) {
            ++claimed[row];
            if (slot.holder(row).owner != id + 1)
              claimed[row] += 100;
            slot.mark_done(row);
          }
          if (slot.count_done(mine.size()))
            ++finishers;
        }
      });
    for (auto& x : workers)
      x.join();
    for (std::size_t i = 0; i < rows; ++i)
      REQUIRE(claimed[i] == 1);
    REQUIRE(finishers == 1);
    REQUIRE(slot.complete());
  }
}

TEST_CASE("batch_slot: late claimers of an older ticket get nothing while the slot is reused") {
  constexpr std::uint32_t tickets = 30'000;
  constexpr std::size_t rows = 5;
  batch_slot slot{std::make_shared<batch_layout>(), rows};
  std::atomic<std::uint32_t> current{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> wrong{false};
  planned_batch batch;
  for (std::size_t i = 0; i < rows; ++i)
    batch.add();
  std::vector<std::thread> workers;
  // Each goes through all tickets at its own speed, so slow threads claim rows of old ones.
  for (std::uint32_t id = 0; id < threads; ++id)
    workers.emplace_back([&, id] {
      for (std::uint32_t ticket = 1; ticket <= tickets; ++ticket) {
        for (auto now = current.load(); now < ticket; now = current.load())
          current.wait(now);
        while (auto mine = slot.claim(ticket, rows, id, 1 + id % 3)) {
          for (auto row = mine.first; row < mine.end; ++row) {
            if (slot.request(row).position != ticket) // the slot was reopened under its row
              wrong = true;
            ++done;
            slot.finish(row);
          }
        }
      }
    });
  for (std::uint32_t ticket = 1; ticket <= tickets; ++ticket) {
    slot.reserve();
    for (auto& row : batch.requests)
      row.position = ticket;
    slot.open(batch, true);
    batch.requests.resize(rows); // it has got the memory of the previous batch
    current = ticket;
    current.notify_all();
    for (int i = 1; !slot.complete(); ++i)
      if (i % 64 == 0)
        std::this_thread::yield();
    slot.close();
    slot.release();
  }
  for (auto& x : workers)
    x.join();
  CHECK_FALSE(wrong);
  CHECK(done == std::uint64_t{tickets} * rows);
}

TEST_CASE("batch_slot: claims of another ticket, or beyond the limit, find nothing") {
  batch_slot slot{two_fields, 3};
  open_rows(slot, 3);
  const auto claim = [&](std::uint32_t seen, std::size_t limit, std::size_t at_most) {
    const auto claimed = slot.claim(seen, limit, 7, at_most);
    return std::pair{claimed.first, claimed.end};
  };
  using rows = std::pair<std::size_t, std::size_t>;
  const rows nothing{0, 0};
  CHECK(claim(0, 3, 1) == nothing);
  CHECK(claim(2, 3, 1) == nothing);
  CHECK(claim(1, 3, 1) == rows{0, 1});
  CHECK(slot.holder(0).owner == 8);
  CHECK(slot.holder(1).owner == 0);
  CHECK(claim(1, 1, 1) == nothing);
  CHECK(claim(1, 3, 9) == rows{1, 3});
  CHECK(slot.holder(2).owner == 8);
  slot.release();
  open_rows(slot, 2);
  CHECK(claim(1, 3, 2) == nothing);
  CHECK(claim(2, 2, 1) == rows{0, 1});
  CHECK(claim(2, 2, 1) == rows{1, 2});
  CHECK(claim(2, 2, 1) == nothing);
}

TEST_CASE("batch_slot: a slot goes from state to state as its users may") {
  using enum slot_state;
  const std::set<std::pair<slot_state, slot_state>> allowed{
      {free, reserved}, {reserved, filling}, {filling, ready},
      {ready, leased},  {leased, free},      {free, filling}, // in the caller's thread, and probes
      {filling, free},                                        // probes
      {ready, free},                                          // batches that nobody needs any more
  };
  for (auto from : {free, reserved, filling, ready, leased})
    for (auto to : {free, reserved, filling, ready, leased})
      CHECK(may_follow(from, to) == (allowed.count({from, to}) > 0));

  batch_slot slot{two_fields, 1};
  CHECK(slot.state() == free);
  slot.reserve();
  CHECK_FALSE(slot.has_rows_left());
  open_rows(slot, 1);
  CHECK(slot.state() == filling);
  CHECK_FALSE(slot.complete());
  CHECK(slot.finish(0));
  slot.close();
  slot.lend();
  CHECK(slot.state() == leased);
  slot.release();
  slot.reserve();
  CHECK_FALSE(slot.complete());
}

TEST_CASE("batch_slot: closing sums up the good rows and zeroes the others") {
  batch_slot slot{two_fields, 4};
  open_rows(slot, 3);
  for (std::size_t row = 0; row < 4; ++row)
    write(slot, row, static_cast<std::uint8_t>(row + 1), std::string(row + 1, 'a'));
  slot.result(0).digest = {.low = 5, .high = 1};
  slot.result(1).digest = {.low = 100, .high = 100};
  slot.result(1).what = row_result::outcome::masked;
  slot.result(1).bad = bad_row{1, "b", cause::empty, "none", {}};
  slot.result(2).digest = {.low = ~std::uint64_t{0}, .high = 1};
  slot.result(2).bad = bad_row{2, "c", cause::empty, "none", "d"};
  slot.close();
  CHECK(slot.plan().what == batch_plan::kind::batch);
  CHECK(slot.summary().valid == std::vector<std::uint8_t>{1, 0, 1, 0});
  CHECK(slot.summary().num_valid == 2);
  CHECK(slot.summary().digest == hash128{.low = 4, .high = 3});
  CHECK(values_of_x(slot) == std::vector<int>{1, 1, 0, 0, 3, 3, 0, 0});
  REQUIRE(slot.summary().bad.size() == 2);
  CHECK(slot.summary().bad[0].id == "b");
  CHECK(slot.summary().bad[1].substitute == "d");
  CHECK(slot.memory().gather(0).values.size() == 1 + 3);
  CHECK(slot.memory().gather(0).offsets == std::vector<std::uint64_t>{0, 1, 1, 4, 4});
}

TEST_CASE("batch_slot: a batch fails with the failure of its first failed row") {
  batch_slot slot{two_fields, 3};
  open_rows(slot, 3);
  for (std::size_t row : {2, 1}) {
    slot.result(row).what = row_result::outcome::failed;
    slot.result(row).failure = error(errc::io, {.stage = "row " + std::to_string(row)});
    slot.result(row).bad = bad_row{};
  }
  slot.close();
  CHECK(slot.plan().what == batch_plan::kind::failed);
  CHECK(slot.plan().failure->details().stage == "row 1");
  CHECK(slot.summary().bad.empty());

  slot.release();
  open_rows(slot, 3);
  slot.close();
  CHECK(slot.plan().what == batch_plan::kind::batch);
  CHECK_FALSE(slot.plan().failure);
  CHECK(slot.summary().num_valid == 3);
}

TEST_CASE("batch_slot: a batch that failed before it was dealt keeps its failure") {
  batch_slot slot{two_fields, 3};
  open_rows(slot, 0, false, 0, failed_batch(error(errc::io, {.stage = "dispatcher"})));
  CHECK(slot.complete());
  slot.close();
  REQUIRE(slot.plan().failure);
  CHECK(slot.plan().failure->details().stage == "dispatcher");
  CHECK(slot.summary().num_valid == 0);
}

TEST_CASE("batch_slot: an opening leaves nothing of an earlier use") {
  batch_slot slot{two_fields, 1};
  open_rows(slot, 1, true, 0,
            {.what = batch_plan::kind::probe,
             .epoch = 1,
             .step = 2,
             .end_of_epoch = true,
             .horizon = {3, true},
             .lanes = std::make_shared<const lane_states>(),
             .failure = error(errc::io, {})});
  auto& row = slot.result(0);
  row.digest = row.pixels = {.low = 1, .high = 1};
  row.what = row_result::outcome::failed;
  row.delivered = {1, 1};
  row.bad = bad_row{};
  row.failure = error(errc::io, {});
  auto& holder = slot.holder(0);
  holder.deaths = 1;
  holder.owner = 1;
  holder.state = row_holder::phase::done;
  auto& seen = row.seen;
  seen.found.number = 1;
  seen.found.text = "text";
  seen.found.bad = true;
  seen.made = std::make_shared<payload>();
  slot.close();
  slot.release();

  open_rows(slot, 1);
  CHECK_FALSE(slot.is_claimable());
  const auto& plan = slot.plan();
  CHECK(plan.what == batch_plan::kind::batch);
  CHECK(job_position{plan.epoch, plan.step} == job_position{0, 0});
  CHECK_FALSE(plan.end_of_epoch);
  CHECK(plan.horizon == epoch_horizon{});
  CHECK_FALSE(plan.lanes);
  CHECK_FALSE(plan.failure);
  CHECK(row.digest == hash128{});
  CHECK(row.pixels == hash128{});
  CHECK(row.what == row_result::outcome::good);
  CHECK_FALSE(row.bad);
  CHECK_FALSE(row.failure);
  CHECK(row.delivered == epoch_item{});
  CHECK(holder.deaths == 0);
  CHECK(holder.owner == 0);
  CHECK(holder.state == row_holder::phase::dealt);
  CHECK(seen.found.number == 0);
  CHECK(seen.found.text.empty());
  CHECK_FALSE(seen.found.bad);
  CHECK_FALSE(seen.made);
}

TEST_CASE("batch_slot: ragged fields are gathered once per batch, from any thread") {
  batch_slot slot{two_fields, 3};
  for (const std::string text : {"one", "another"}) {
    if (slot.state() != slot_state::free)
      slot.release();
    open_rows(slot, 2);
    write(slot, 0, 0, text);
    write(slot, 1, 0, "");
    slot.close();
    std::vector<std::thread> readers;
    std::atomic<int> same{0};
    const auto* expected = text.data();
    for (std::size_t i = 0; i < threads; ++i)
      readers.emplace_back([&] {
        const auto& x = slot.memory().gather(0);
        if (x.values.size() == text.size()
            && std::memcmp(x.values.data(), expected, text.size()) == 0
            && x.offsets == std::vector<std::uint64_t>{0, text.size(), text.size(), text.size()})
          ++same;
      });
    for (auto& x : readers)
      x.join();
    CHECK(same == threads);
  }
}

} // namespace
} // namespace leat::batch_slot_test
