#include "runtime/rows/worker_board.hpp"
#include "tests/support/test.hpp"

namespace leat::worker_board_test {
namespace {

TEST_CASE("worker_board: every worker has an id of its own, also one that takes another's number") {
  worker_board x;
  CHECK(x.add(0)->id == 0);
  CHECK(x.add(1)->id == 1);
  CHECK(x.add(0)->id == 2);
  CHECK(x.num_workers() == 3);
}

TEST_CASE("worker_board: sums hold what all did, however many came and went, and records do not "
          "pile up") {
  worker_board x;
  auto stays = x.add(1);
  stays->rows_done = 7;
  constexpr std::uint64_t others = 10'000;
  for (std::uint64_t i = 0; i < others; ++i) {
    auto goes = x.add(i % 3);
    goes->rows_dealt = 3;
    goes->rows_done = 2;
    goes->busy_ns = 10;
    goes->bytes_read = i;
    goes->elements_packed = 8;
    goes->elements_padded = i % 2;
    REQUIRE(x.num_records() <= 3);
  }
  const auto sums = x.sums();
  REQUIRE(sums.size() == 3);
  const auto all = [&](auto worker_sums::*member) {
    auto sum = sums[0].*member;
    for (std::size_t i = 1; i < sums.size(); ++i)
      sum += sums[i].*member;
    return sum;
  };
  CHECK(all(&worker_sums::rows_dealt) == 3 * others);
  CHECK(all(&worker_sums::rows_done) == 2 * others + 7);
  CHECK(all(&worker_sums::busy).count() == 10 * others);
  CHECK(all(&worker_sums::bytes_read) == others * (others - 1) / 2);
  CHECK(all(&worker_sums::elements_packed) == 8 * others);
  CHECK(all(&worker_sums::elements_padded) == others / 2);
  CHECK(sums[1].rows_done == 2 * 3333 + 7);
  CHECK(x.num_workers() == others + 1);
}

TEST_CASE("worker_board: a worker that is there is never counted twice or lost") {
  worker_board x;
  auto a = x.add(0);
  a->rows_done = 1;
  auto b = x.add(0);
  CHECK(x.sums()[0].rows_done == 1);
  a->rows_done = 2;
  a.reset();
  CHECK(x.sums()[0].rows_done == 2);
  auto c = x.add(0);
  b->rows_done = 5;
  CHECK(x.sums()[0].rows_done == 7);
}

TEST_CASE("worker_board: it names the worker that has been busy for longest") {
  worker_board x;
  auto idle = x.add(0);
  auto late = x.add(1);
  auto early = x.add(2);
  late->since_ns = 200;
  early->since_ns = 100;
  CHECK(x.busy_since_before(1000) == early);
  CHECK(x.busy_since_before(101) == early);
  CHECK(x.busy_since_before(100) == nullptr);
  CHECK(x.oldest_start_ns() == 100);
  early->since_ns = 0;
  CHECK(x.busy_since_before(1000) == late);
  late->since_ns = 0;
  CHECK(x.busy_since_before(1000) == nullptr);
  const auto now = steady_ns();
  CHECK(x.oldest_start_ns() >= now);
}

TEST_CASE("worker_board: a lane's turn may take long if it calls one function after the other") {
  const std::string name = "read files";
  worker_board x;
  const auto record = x.add(0);
  record->since_ns = 1;
  { const call_record::scope call{record->calls, name, 0}; }
  const auto begin = steady_ns();
  REQUIRE(x.busy_since_before(begin) == nullptr);
  const auto seen = x.oldest_start_ns();
  CHECK(seen >= begin);
  CHECK(x.oldest_start_ns() == seen); // no call has begun since
  const call_record::scope call{record->calls, name, 0};
  CHECK(x.oldest_start_ns() > seen);
  CHECK(x.busy_since_before(steady_ns()) == record); // that call hangs
}

} // namespace
} // namespace leat::worker_board_test
