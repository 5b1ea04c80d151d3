#include "runtime/worker_board.hpp"
#include "tests/support/catch.hpp"

namespace leat {
namespace {

TEST_CASE("worker_board: every worker has an id of its own, also one that takes another's number") {
  worker_board x;
  CHECK(x.add(0)->id == 0);
  CHECK(x.add(1)->id == 1);
  CHECK(x.add(0)->id == 2);
  REQUIRE(x.all().size() == 3);
  CHECK(x.all()[2]->number == 0);
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

} // namespace
} // namespace leat
