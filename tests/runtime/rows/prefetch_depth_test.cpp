#include "runtime/rows/batch_memory.hpp"
#include "runtime/rows/prefetch_depth.hpp"
#include "tests/support/test.hpp"

namespace leat::prefetch_depth_test {
namespace {

constexpr std::size_t kibi = 1024;

std::shared_ptr<const batch_layout> dense(std::size_t bytes) {
  return std::make_shared<const batch_layout>(
      std::vector<field_layout>{{.name = "x", .dims = {bytes}}});
}

std::shared_ptr<const batch_layout> ragged() {
  return std::make_shared<const batch_layout>(
      std::vector<field_layout>{{.name = "x", .ragged = true}});
}

/// A batch of ragged rows of this size.
class ragged_batch {
public:
  ragged_batch(std::size_t rows, std::size_t row_bytes) : memory_(ragged(), rows) {
    row_places places;
    for (std::size_t i = 0; i < rows; ++i) {
      const auto row = places.at(memory_, i).ragged[0];
      row.resize(row_bytes);
      row.complete();
    }
  }
  operator const batch_memory&() const { return memory_; }

private:
  batch_memory memory_;
};

std::size_t after(prefetch_depth& depth, const batch_memory& batch, int times) {
  for (int i = 0; i < times; ++i)
    depth.see(batch);
  return depth.batches();
}

TEST_CASE("prefetch depth: two batches ahead, and more of small ones, as many as fit") {
  CHECK(prefetch_depth(*dense(1 << 20), 64, 0).batches() == 2);
  CHECK(prefetch_depth(*dense(1 << 20), 2, 0).batches() == 4);
  CHECK(prefetch_depth(*dense(1), 4, 0).batches() == 16);
  CHECK(prefetch_depth(*ragged(), 1, 0).batches() == 16);
  CHECK(prefetch_depth(*ragged(), 240, 0).batches() == 2);
}

TEST_CASE(
    "prefetch depth: batches of ragged rows that turn out to be small are made further ahead") {
  prefetch_depth depth{*ragged(), 240, 0};
  const ragged_batch lines{240, 2 * kibi};
  std::vector<std::size_t> seen;
  for (int i = 0; i < 20; ++i)
    seen.push_back(after(depth, lines, 1));
  CHECK(seen.front() == 4); // no more than doubled
  CHECK(seen.back() == (4096 * kibi) / (240 * (2 * kibi + 512)));
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("prefetch depth: a large batch ends that, however many small ones follow") {
  prefetch_depth depth{*ragged(), 240, 0};
  const ragged_batch lines{240, 10};
  REQUIRE(after(depth, lines, 10'000) == 16);
  const ragged_batch books{240, 100 * kibi};
  CHECK(after(depth, books, 256) == 2);
  CHECK(after(depth, lines, 10'000) == 2);
}

TEST_CASE("prefetch depth: what was asked for stays") {
  for (const std::size_t asked : {1, 3, 100}) {
    prefetch_depth depth{*ragged(), 240, asked};
    CHECK(after(depth, ragged_batch{240, 10}, 1000) == asked);
  }
}

TEST_CASE("prefetch depth: fixed rows are as large as planned, and no batch is looked at") {
  prefetch_depth depth{*dense(1 << 20), 2, 0};
  CHECK(after(depth, batch_memory{dense(1), 2}, 1000) == 4);
}

} // namespace
} // namespace leat::prefetch_depth_test
