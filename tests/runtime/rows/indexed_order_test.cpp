#include "runtime/rows/indexed_order.hpp"
#include "tests/support/paper_job.hpp"
#include "tests/support/test.hpp"

namespace leat::indexed_order_test {
namespace {

/// One batch of one rank, as it was opened.
struct part {
  job_position at;
  bool end_of_epoch = false;
  std::vector<std::uint64_t> positions;
  std::vector<epoch_item> items;

  friend bool operator==(const part&, const part&) = default;
};

std::optional<part> next_part(indexed_order& x, planned_batch& batch) {
  REQUIRE(x.open(batch));
  const auto& plan = batch.plan;
  if (plan.what == batch_plan::kind::end)
    return std::nullopt;
  part result{{plan.epoch, plan.step}, plan.end_of_epoch, {}, {}};
  for (std::size_t i = 0; i < batch.rows; ++i) {
    REQUIRE(batch.requests[i].epoch == plan.epoch);
    result.positions.push_back(batch.requests[i].position);
    result.items.push_back(batch.requests[i].own);
  }
  return result;
}

/// The next batches, up to a number.
std::vector<part> parts_of(const paper_job& job, std::uint64_t rank, job_position start = {},
                           std::size_t most = SIZE_MAX) {
  auto order = job.order(rank, start);
  planned_batch batch;
  std::vector<part> result;
  while (result.size() < most) {
    auto part = next_part(order, batch);
    if (!part)
      break;
    result.push_back(std::move(*part));
  }
  return result;
}

TEST_CASE("indexed_order: over all ranks every position of every epoch comes once, in order") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto job = random_job(chance);
    const auto rows = job.shape.batch_rows;
    const auto world = job.world_size;
    const auto batches = job.shape.batches();
    std::vector<std::vector<part>> ranks;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      ranks.push_back(parts_of(job, rank));
      REQUIRE(ranks.back().size() == job.epochs * batches);
    }
    for (std::size_t i = 0; i < job.epochs * batches; ++i) {
      const auto epoch = i / batches;
      const auto step = i % batches;
      const auto last = job.shape.end == epoch_end::mask
                            ? std::min(job.shape.items, (step + 1) * rows)
                            : (step + 1) * rows;
      std::uint64_t seen = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const auto& x = ranks[rank][i];
        REQUIRE(x.at == job_position{epoch, step});
        REQUIRE(x.end_of_epoch == (step + 1 == batches));
        REQUIRE(std::is_sorted(x.positions.begin(), x.positions.end()));
        for (std::size_t row = 0; row < x.positions.size(); ++row) {
          const auto p = x.positions[row];
          REQUIRE(p % world == rank);
          REQUIRE((p >= step * rows && p < last));
          REQUIRE((row == 0 || x.positions[row - 1] < p));
          REQUIRE(x.items[row] == epoch_item{p, epoch});
        }
        seen += x.positions.size();
      }
      REQUIRE(seen == last - step * rows); // in range, of the right rank, never twice: so each once
    }
  }
}

TEST_CASE("indexed_order: starting in the middle gives the tail of the whole job") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto job = random_job(chance);
    const auto rank = chance() % job.world_size;
    const auto whole = parts_of(job, rank);
    for (std::size_t skipped = 0; skipped < whole.size(); ++skipped) {
      const std::vector<part> tail(whole.begin() + static_cast<std::ptrdiff_t>(skipped),
                                   whole.end());
      REQUIRE(parts_of(job, rank, whole[skipped].at) == tail);
    }
    REQUIRE(parts_of(job, rank, {job.epochs, 0}).empty());
  }
}

TEST_CASE("indexed_order: after the last epoch every opening is the end") {
  const auto job = make_job(8, 4, 2, 1, epoch_end::drop);
  auto x = job.order(0);
  planned_batch batch;
  CHECK(next_part(x, batch));
  CHECK(next_part(x, batch));
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(next_part(x, batch));
    CHECK(batch.rows == 0);
  }
}

} // namespace
} // namespace leat::indexed_order_test
