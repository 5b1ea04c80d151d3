#include "runtime/rows/row_assignment.hpp"
#include "tests/support/paper_job.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::row_assignment_test {
namespace {

using slot_ptr = std::shared_ptr<batch_slot>;

/// Opens the rank's batches, one after the other.
void for_each_batch(const paper_job& job, std::uint64_t rank, bool claimable,
                    const std::function<void(const slot_ptr&)>& deal) {
  auto order = job.order(rank);
  const auto slot =
      std::make_shared<batch_slot>(std::make_shared<batch_layout>(), job.rows_of_rank());
  for (open_next(order, *slot, claimable); slot->plan().what != batch_plan::kind::end;
       open_next(order, *slot, claimable))
    deal(slot);
}

TEST_CASE("row_assignment: fixed policies give each row to one worker, claims give none") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto job = random_job(chance);
    std::vector<std::uint32_t> workers(1 + chance() % 5);
    std::iota(workers.begin(), workers.end(), 10);
    const auto rank = chance() % job.world_size;
    for (auto policy : all_policies) {
      const row_assignment x{job.shape.lanes, job.world_size, policy};
      REQUIRE(x.claims() == (policy == dispatch_policy::on_demand));
      for_each_batch(job, rank, x.claims(), [&](const slot_ptr& slot) {
        const auto chunks = x.deal(slot, workers);
        REQUIRE(chunks.size() == workers.size());
        std::vector<int> given(slot->num_rows());
        for (std::size_t i = 0; i < chunks.size(); ++i) {
          REQUIRE(chunks[i].slot == slot);
          REQUIRE(chunks[i].ticket == slot->ticket());
          REQUIRE(chunks[i].limit == slot->num_rows());
          REQUIRE(chunks[i].claims == (policy == dispatch_policy::on_demand));
          REQUIRE(std::is_sorted(chunks[i].rows.begin(), chunks[i].rows.end()));
          for (auto row : chunks[i].rows) {
            ++given.at(row);
            REQUIRE(slot->holder(row).owner == workers[i] + 1);
            if (policy == dispatch_policy::round_robin)
              REQUIRE(row % workers.size() == i);
          }
        }
        const int times = policy == dispatch_policy::on_demand ? 0 : 1;
        REQUIRE(std::all_of(given.begin(), given.end(), [&](int n) { return n == times; }));
      });
    }
  }
}

/// The worker of each lane of a rank; fails if a lane has two.
std::vector<std::optional<std::size_t>> workers_of_lanes(const paper_job& job, std::uint64_t rank,
                                                         std::size_t workers) {
  const row_assignment x{job.shape.lanes, job.world_size, dispatch_policy::by_lane};
  std::vector<std::optional<std::size_t>> result(job.shape.lanes);
  for_each_batch(job, rank, x.claims(), [&](const slot_ptr& slot) {
    const auto chunks = x.deal(slot, std::vector<std::uint32_t>(workers, 0));
    for (std::size_t i = 0; i < chunks.size(); ++i)
      for (auto row : chunks[i].rows) {
        auto& worker = result[slot->request(row).position % job.shape.lanes];
        REQUIRE((!worker || *worker == i));
        worker = i;
      }
  });
  return result;
}

TEST_CASE(
    "row_assignment: by_lane gives a lane to one worker, and no worker of a rank is left out") {
  using lanes = std::vector<std::optional<std::size_t>>;
  // W divides L: rank 1 of 2 owns lanes 1, 3, 5, 7 and counts them 0, 1, 2, 3.
  CHECK(workers_of_lanes(make_job(64, 16, 8, 2, epoch_end::drop), 1, 2)
        == lanes{{}, 0, {}, 1, {}, 0, {}, 1});
  // W does not divide L: lanes belong to no rank, and count as they are.
  CHECK(workers_of_lanes(make_job(96, 16, 4, 3, epoch_end::drop), 1, 3) == lanes{0, 1, 2, 0});
}

} // namespace
} // namespace leat::row_assignment_test
