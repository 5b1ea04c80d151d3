// Short handlers that run in the thread whose message made them ready.

#include "tests/support/catch.hpp"
#include "tests/support/stages.hpp"

#include <leat/leat.hpp>

namespace leat::handlers_here_test {
namespace {

TEST_CASE("handlers here: a finished batch does not wait for its worker's next row") {
  for (const bool is_indexed : {true, false}) {
    CAPTURE(is_indexed);
    // Each batch but the first waits, in the only worker, until the trainer has the one before it.
    constexpr std::uint64_t batches = 20;
    constexpr std::uint64_t rows = 4;
    auto got = std::make_shared<std::array<std::promise<void>, batches>>();
    auto seen = std::make_shared<std::vector<std::shared_future<void>>>();
    for (auto& x : *got)
      seen->push_back(x.get_future().share());
    const auto wait = [seen](sample&, context& row) {
      const auto batch = row.position() / rows;
      if (batch > 0)
        (*seen)[batch - 1].wait();
    };
    const auto data = count(batches * rows);
    const auto job = (is_indexed ? data : data.filter(keep_all()))
                         .map("wait@1", wait)
                         .batch(rows, {.lanes = 1, .end = epoch_end::mask});
    loader x{job, {.workers = 1, .prefetch = 4}};
    std::uint64_t n = 0;
    for (; auto batch = x.next(); ++n)
      (*got)[n].set_value();
    CHECK(n == batches);
  }
}

TEST_CASE("handlers here: leases come back from threads of all kinds") {
  loader x{count(3000).batch(10), {.workers = 2, .leases = 8}};
  std::uint64_t rows = 0;
  std::vector<std::thread> threads;
  while (auto batch = x.next()) {
    rows += batch->valid_rows();
    if (threads.size() == 6) {
      for (auto& t : threads)
        t.join();
      threads.clear();
    }
    threads.emplace_back([lease = std::move(batch)]() mutable { lease.reset(); });
  }
  for (auto& t : threads)
    t.join();
  CHECK(rows == 3000);
}

} // namespace
} // namespace leat::handlers_here_test
