#include "runtime/rows/weight_changes.hpp"
#include "tests/support/test.hpp"

namespace leat::weight_changes_test {
namespace {

void check_refused(weight_changes& x, const weight_phase& change, std::uint64_t now,
                   const char* part) {
  const auto problem = thrown_by([&] { (void)x.add(change, now); });
  CHECK(problem.code() == errc::invalid_argument);
  CHECK(has(problem.what(), part));
}

TEST_CASE("weight changes: a past step is refused, unless the change was made already") {
  weight_changes x;
  CHECK(x.add({7, {1, 2}}, 7));
  CHECK_FALSE(x.add({7, {1, 2}}, 20));
  check_refused(x, {6, {1, 2}}, 7, "step 6, which is past");
  check_refused(x, {7, {1, 3}}, 0, "7:1,2, as was said before");
  CHECK(x.add({3, {5, 5}}, 0));
  CHECK(x.all() == weight_phases{{3, {5, 5}}, {7, {1, 2}}});
}

TEST_CASE("weight changes: a restore has those of the snapshot and those that were made here") {
  weight_changes x;
  x.add({9, {2, 1}}, 0);
  const auto restored = x.restored({{4, {1, 1}}}, 6);
  CHECK(restored.all() == weight_phases{{4, {1, 1}}, {9, {2, 1}}});
  CHECK(x.restored({{9, {2, 1}}}, 50).all() == weight_phases{{9, {2, 1}}});
  CHECK_THROWS_AS(x.restored({}, 10), error);           // it is past there
  CHECK_THROWS_AS(x.restored({{9, {1, 1}}}, 0), error); // other weights
  // Changes of an earlier snapshot are forgotten, but not those that were made here.
  CHECK(restored.restored({}, 0).all() == weight_phases{{9, {2, 1}}});
}

} // namespace
} // namespace leat::weight_changes_test
