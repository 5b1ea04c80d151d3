#include "runtime/lending/deal_rows.hpp"
#include "runtime/rows/row_worker.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::deal_rows_test {
namespace {

TEST_CASE("deal_here: a worker that takes a lent row says so, and one that is too late does not") {
  const auto plan = noisy_plan(8, 4);
  const auto slot = std::make_shared<batch_slot>(plan->layout, rows_of_rank(*plan));
  const auto order = order_of_rank(*plan, 1);
  planned_batch batch;
  REQUIRE(order->open(batch));
  slot->open(batch, true);
  const auto rows = slot->num_rows();
  REQUIRE(slot->claim_last(slot->ticket(), rows, rows).size() == rows);
  std::vector<row_place> lent;
  for (std::size_t i = 0; i < rows; ++i)
    lent.push_back({slot, slot->ticket(), static_cast<std::uint32_t>(i), rows});
  std::size_t told = 0;
  const auto taken = std::make_shared<listener>([&] { ++told; });
  std::vector<chunk> dealt;
  deal_here(std::move(lent), taken, [&](chunk x) { dealt.push_back(std::move(x)); });
  REQUIRE(dealt.size() == 1);
  REQUIRE(dealt[0].rows.size() == rows);
  REQUIRE(slot->take_lent(slot->ticket(), 0)); // somebody is faster with the first one
  row_worker worker;
  worker.plan = plan;
  worker.record = std::make_shared<worker_record>();
  worker.function.emplace(plan, worker.record);
  (void)worker.run(dealt[0]);
  REQUIRE(told == rows - 1);
  (void)worker.run(dealt[0]);
  REQUIRE(told == rows - 1);
  slot->put_back(0);
  taken->end(); // nobody listens any more
  REQUIRE(worker.run(dealt[0]) == row_worker::verdict::complete);
  REQUIRE(told == rows - 1);
}

} // namespace
} // namespace leat::deal_rows_test
