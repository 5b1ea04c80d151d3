#include "tests/support/catch.hpp"

#include "tools/leat/bench/spread.hpp"

namespace leat::spread_test {

using namespace leat::command;

TEST_CASE("a spread is the middle and the ends of a series in any order") {
  const auto odd = spread_of({5, 1, 3});
  REQUIRE(odd.median == 3);
  REQUIRE(odd.low == 1);
  REQUIRE(odd.high == 5);
  REQUIRE(spread_of({4, 1, 2, 9}).median == 3);
  REQUIRE(spread_of({7}).median == 7);
}

TEST_CASE("ratios are taken round by round") {
  REQUIRE(ratios({6, 8}, {2, 4}) == series{3, 2});
}

TEST_CASE("a spread's text has commas, or decimals") {
  REQUIRE(to_text(spread{1234.4, 999.6, 2000}, 0) == "1,234  (1,000 .. 2,000)");
  REQUIRE(to_text(spread{1.25, 1, 1.5}, 1) == "1.2  (1.0 .. 1.5)");
}

} // namespace leat::spread_test
