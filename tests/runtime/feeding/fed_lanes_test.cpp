#include "runtime/feeding/fed_lanes.hpp"
#include "tests/support/test.hpp"

namespace leat::fed_lanes_test {
namespace {

TEST_CASE("fed_lanes: records of the rank's lanes count once, and others only say how far it is") {
  fed_lanes x{{.lanes = 4, .world_size = 2, .rank = 1}};
  x.looked(0, true); // another rank's
  CHECK(x.taken() == 0);
  CHECK(x.reached(10) == 1);
  x.looked(1, true);
  x.looked(1, true);
  x.looked(3, true);
  CHECK(x.taken() == 2);
  CHECK(x.reached(10) == 4);
  x.looked(5, false);
  CHECK(x.taken() == 2);
  CHECK(x.reached(5) == 5); // record 4 is another rank's
  CHECK(x.is_short(5));
  CHECK_FALSE(x.is_short(6));
  x.looked(5, true);
  CHECK(x.taken() == 3);
}

TEST_CASE(
    "fed_lanes: the oldest record that is needed is that of the lane that has covered least") {
  fed_lanes x{{.lanes = 4, .world_size = 2, .rank = 1}};
  CHECK(x.needed_from() == 0);
  x.cover(9, 1);
  CHECK(x.needed_from() == 0);
  x.cover(7, 3);
  CHECK(x.needed_from() == 7);
  x.cover(100, 0); // another rank's
  x.cover(2, 3);
  CHECK(x.needed_from() == 7);
}

TEST_CASE("fed_lanes: a job that resumes has come to what it had used") {
  fed_lanes x{{.lanes = 2, .world_size = 1, .rank = 0}};
  x.resume(40);
  x.resume(39);
  CHECK(x.reached(100) == 40);
  CHECK(x.reached(0) == 0); // no feed has said how many there are
  CHECK(x.is_short(39));
  CHECK_FALSE(x.is_short(40));
  x.looked(41, true);
  CHECK(x.taken() == 1);
}

} // namespace
} // namespace leat::fed_lanes_test
