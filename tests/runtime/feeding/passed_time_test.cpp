#include "runtime/feeding/passed_time.hpp"
#include "tests/support/test.hpp"

namespace leat::passed_time_test {
namespace {

TEST_CASE("passed_time: all that are in it count, up to now, and together they count once") {
  passed_time x;
  CHECK(x.sum(1000) == 0);
  x.enter(1000);
  CHECK(x.sum(1010) == 10);
  CHECK(x.any(1010) == 10);
  x.enter(1020);
  CHECK(x.sum(1030) == 40);
  CHECK(x.any(1030) == 30);
  x.leave(1040);
  CHECK(x.sum(1050) == 70);
  CHECK(x.any(1050) == 50);
  CHECK(x.is_inside());
  x.leave(1060);
  CHECK(x.sum(5000) == 80);
  CHECK(x.any(5000) == 60);
  CHECK_FALSE(x.is_inside());
}

TEST_CASE("passed_time: a thread that comes late with an earlier time takes nothing away") {
  passed_time x;
  x.enter(1000);
  x.enter(900);
  CHECK(x.sum(1000) == 0);
  x.leave(1100);
  x.leave(1050);
  CHECK(x.sum(2000) == 200);
  CHECK(x.any(2000) == 100);
}

} // namespace
} // namespace leat::passed_time_test
