#include "runtime/base/step_ranges.hpp"
#include "tests/support/test.hpp"

namespace leat::step_ranges_test {
namespace {

constexpr auto most = UINT64_MAX;

/// The steps as ranges that do not adjoin.
std::vector<step_range> ranges_of(const std::set<std::uint64_t>& steps) {
  std::vector<step_range> result;
  for (auto step : steps)
    if (!result.empty() && result.back().last + 1 == step)
      ++result.back().last;
    else
      result.push_back({step, step});
  return result;
}

TEST_CASE("step set: the same as a set of numbers, whatever is added in which order") {
  std::mt19937 random{1};
  for (int i = 0; i < 2000; ++i) {
    std::vector<step_range> added;
    std::set<std::uint64_t> expected;
    for (auto n = random() % 6; n > 0; --n) {
      const auto first = random() % 20;
      added.push_back({first, first + random() % 5});
      for (auto step = first; step <= added.back().last; ++step)
        expected.insert(step);
    }
    const step_set x{added};
    REQUIRE(x.ranges() == ranges_of(expected));
    for (std::uint64_t first = 0; first < 26; ++first)
      for (auto last = first; last < 26; ++last) {
        auto missing = first;
        while (missing <= last && expected.contains(missing))
          ++missing;
        REQUIRE(x.first_missing({first, last}).value_or(last + 1) == missing);
      }
  }
}

TEST_CASE("step set: up to the largest number") {
  step_set x{{{5, most}, {0, 3}}};
  REQUIRE(x.ranges() == std::vector<step_range>{{0, 3}, {5, most}});
  REQUIRE(x.contains(most));
  REQUIRE(x.first_missing({0, most}) == 4);
  x.add({4, 4});
  REQUIRE(x.ranges() == std::vector<step_range>{{0, most}});
  REQUIRE_FALSE(x.first_missing({0, most}));
}

} // namespace
} // namespace leat::step_ranges_test
