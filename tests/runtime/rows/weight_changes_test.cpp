#include "runtime/rows/weight_changes.hpp"
#include "tests/support/catch.hpp"

#include <leat/error.hpp>

#include <cstdint>
#include <string>

namespace leat::weight_changes_test {
namespace {

std::string text_of_refusal(weight_changes& x, const weight_phase& change, std::uint64_t now) {
  try {
    (void)x.add(change, now);
  } catch (const error& problem) {
    CHECK(problem.code() == errc::invalid_argument);
    return problem.what();
  }
  return {};
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("weight changes: a past step is refused, unless the change was made already") {
  weight_changes x;
  CHECK(x.add({7, {1, 2}}, 7));
  CHECK_FALSE(x.add({7, {1, 2}}, 20));
  CHECK(contains(text_of_refusal(x, {6, {1, 2}}, 7), "step 6, which is past"));
  CHECK(contains(text_of_refusal(x, {7, {1, 3}}, 0), "7:1,2, as was said before"));
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
