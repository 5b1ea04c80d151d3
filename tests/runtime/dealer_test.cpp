#include "runtime/dealer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/small_job.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

namespace leat {
namespace {

/// A job of which only the order matters.
struct paper_job {
  epoch_shape shape;
  std::uint64_t epochs = 1;
  std::uint64_t world_size = 1;

  std::uint64_t records() const { return shape.items; }
  std::uint64_t batches() const { return shape.batches(); }
};

paper_job make_job(std::uint64_t records, std::uint64_t rows, std::uint64_t lanes,
                   std::uint64_t world_size, epoch_end end, std::uint64_t epochs = 1) {
  paper_job x;
  x.shape = {.items = records, .batch_rows = rows, .lanes = lanes, .end = end};
  x.epochs = epochs;
  x.world_size = world_size;
  return x;
}

/// With one batch an epoch at least, as every pipeline has.
paper_job random_job(std::mt19937_64& chance) {
  const auto lanes = 1 + chance() % 6;
  const auto rows = lanes * (1 + chance() % 5);
  const auto end = chance() % 2 ? epoch_end::mask : epoch_end::drop;
  const auto fewest = end == epoch_end::drop ? rows : 1;
  return make_job(fewest + chance() % 90, rows, lanes, 1 + chance() % 7, end, 1 + chance() % 3);
}

const auto nothing = std::make_shared<batch_layout>();

/// One batch of one rank: what was opened.
struct part {
  job_position at;
  bool end_of_epoch = false;
  std::vector<std::uint64_t> positions;

  friend bool operator==(const part&, const part&) = default;
};

std::optional<part> next_part(dealer& x, batch_slot& slot) {
  x.open(slot);
  if (slot.what == batch_slot::kind::end)
    return std::nullopt;
  part result{{slot.epoch, slot.step}, slot.end_of_epoch, {}};
  for (std::size_t i = 0; i < slot.num_rows; ++i)
    result.positions.push_back(slot.rows[i].position);
  return result;
}

std::vector<part> all_parts(const paper_job& job, std::uint64_t rank, job_position start = {}) {
  dealer x{job.shape, rank, job.world_size, job.epochs, dispatch_policy::on_demand, start};
  batch_slot slot{nothing, x.rows_per_batch()};
  std::vector<part> result;
  while (auto part = next_part(x, slot))
    result.push_back(std::move(*part));
  return result;
}

TEST_CASE("dealer: over all ranks every position of every epoch comes once, in order") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto job = random_job(chance);
    const auto rows = job.shape.batch_rows;
    const auto world = job.world_size;
    std::vector<std::vector<part>> ranks;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      ranks.push_back(all_parts(job, rank));
      REQUIRE(ranks.back().size() == job.epochs * job.batches());
    }
    for (std::size_t i = 0; i < job.epochs * job.batches(); ++i) {
      const auto epoch = i / job.batches();
      const auto step = i % job.batches();
      const auto last = job.shape.end == epoch_end::mask
                            ? std::min(job.records(), (step + 1) * rows)
                            : (step + 1) * rows;
      std::uint64_t seen = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const auto& x = ranks[rank][i];
        REQUIRE(x.at == job_position{epoch, step});
        REQUIRE(x.end_of_epoch == (step + 1 == job.batches()));
        REQUIRE(std::is_sorted(x.positions.begin(), x.positions.end()));
        for (std::size_t row = 0; row < x.positions.size(); ++row) {
          const auto p = x.positions[row];
          REQUIRE(p % world == rank);
          REQUIRE((p >= step * rows && p < last));
          REQUIRE((row == 0 || x.positions[row - 1] < p));
        }
        seen += x.positions.size();
      }
      REQUIRE(seen == last - step * rows); // in range, of the right rank, never twice: so each once
    }
  }
}

TEST_CASE("dealer: a rank's slot holds ceil(G / W) rows, and some batch fills it") {
  for (std::uint64_t rows = 1; rows <= 12; ++rows)
    for (std::uint64_t world = 1; world <= 15; ++world) {
      const auto job = make_job(rows * world, rows, 1, world, epoch_end::drop);
      std::size_t most = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank)
        for (const auto& x : all_parts(job, rank))
          most = std::max(most, x.positions.size());
      const dealer x{job.shape, 0, world, 1, dispatch_policy::on_demand, {}};
      CAPTURE(rows, world);
      REQUIRE(x.rows_per_batch() == (rows + world - 1) / world);
      REQUIRE(most == x.rows_per_batch());
    }
}

TEST_CASE("dealer: ranks beyond the last row of a masked epoch get empty batches") {
  const auto job = make_job(3, 8, 4, 8, epoch_end::mask);
  for (std::uint64_t rank = 0; rank < 8; ++rank) {
    const auto parts = all_parts(job, rank);
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].positions.size() == (rank < 3 ? 1 : 0));
    CHECK(parts[0].end_of_epoch);
  }
}

TEST_CASE("dealer: starting in the middle gives the tail of the whole job") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto job = random_job(chance);
    const auto rank = chance() % job.world_size;
    const auto whole = all_parts(job, rank);
    for (std::size_t skipped = 0; skipped < whole.size(); ++skipped) {
      const std::vector<part> tail(whole.begin() + static_cast<std::ptrdiff_t>(skipped),
                                   whole.end());
      REQUIRE(all_parts(job, rank, whole[skipped].at) == tail);
    }
    REQUIRE(all_parts(job, rank, {job.epochs, 0}).empty());
  }
}

TEST_CASE("dealer: behind the last epoch every opening is the end") {
  const auto job = make_job(8, 4, 2, 1, epoch_end::drop);
  dealer x{job.shape, 0, 1, 1, dispatch_policy::round_robin, {}};
  batch_slot slot{nothing, x.rows_per_batch()};
  CHECK(next_part(x, slot));
  CHECK(next_part(x, slot));
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(next_part(x, slot));
    CHECK(slot.num_rows == 0);
    CHECK(slot.complete());
  }
}

TEST_CASE("dealer: fixed policies give each row to one worker, claims give none") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 chance{seed};
    const auto job = random_job(chance);
    std::vector<std::uint32_t> workers(1 + chance() % 5);
    std::iota(workers.begin(), workers.end(), 10);
    const auto rank = chance() % job.world_size;
    for (auto policy : all_policies) {
      dealer x{job.shape, rank, job.world_size, 1, policy, {}};
      auto slot = std::make_shared<batch_slot>(nothing, x.rows_per_batch());
      while (next_part(x, *slot)) {
        const auto chunks = x.deal(slot, workers);
        REQUIRE(chunks.size() == workers.size());
        std::vector<int> given(slot->num_rows);
        for (std::size_t i = 0; i < chunks.size(); ++i) {
          REQUIRE(chunks[i].slot == slot);
          REQUIRE(chunks[i].generation == slot->generation);
          REQUIRE(chunks[i].limit == slot->num_rows);
          REQUIRE(chunks[i].claims == (policy == dispatch_policy::on_demand));
          REQUIRE(std::is_sorted(chunks[i].rows.begin(), chunks[i].rows.end()));
          for (auto row : chunks[i].rows) {
            ++given.at(row);
            REQUIRE(slot->rows[row].owner == workers[i] + 1);
            if (policy == dispatch_policy::round_robin)
              REQUIRE(row % workers.size() == i);
          }
        }
        const int times = policy == dispatch_policy::on_demand ? 0 : 1;
        REQUIRE(std::all_of(given.begin(), given.end(), [&](int n) { return n == times; }));
      }
    }
  }
}

/// The worker of each lane of a rank; fails where a lane has two.
std::vector<std::optional<std::size_t>> workers_of_lanes(const paper_job& job, std::uint64_t rank,
                                                         std::size_t workers) {
  dealer x{job.shape, rank, job.world_size, 1, dispatch_policy::by_lane, {}};
  auto slot = std::make_shared<batch_slot>(nothing, x.rows_per_batch());
  std::vector<std::optional<std::size_t>> result(job.shape.lanes);
  while (next_part(x, *slot)) {
    const auto chunks = x.deal(slot, std::vector<std::uint32_t>(workers, 0));
    for (std::size_t i = 0; i < chunks.size(); ++i)
      for (auto row : chunks[i].rows) {
        auto& worker = result[slot->rows[row].position % job.shape.lanes];
        REQUIRE((!worker || *worker == i));
        worker = i;
      }
  }
  return result;
}

TEST_CASE("dealer: by_lane gives a lane to one worker, and no worker of a rank is left out") {
  using lanes = std::vector<std::optional<std::size_t>>;
  // W divides L: rank 1 of 2 owns lanes 1, 3, 5, 7 and counts them 0, 1, 2, 3.
  CHECK(workers_of_lanes(make_job(64, 16, 8, 2, epoch_end::drop), 1, 2)
        == lanes{{}, 0, {}, 1, {}, 0, {}, 1});
  // It does not: lanes belong to no rank, and count as they are.
  CHECK(workers_of_lanes(make_job(96, 16, 4, 3, epoch_end::drop), 1, 3) == lanes{0, 1, 2, 0});
}

} // namespace
} // namespace leat
