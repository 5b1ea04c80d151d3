#include "runtime/base/metrics.hpp"
#include "tests/support/test.hpp"

namespace leat::metrics_test {
namespace {

using std::chrono::nanoseconds;

TEST_CASE("a histogram counts durations by powers of two") {
  histogram x;
  for (const auto ns : {0, 1, 2, 3, 4, 1000, 1023, 1024})
    x.add(nanoseconds{ns});
  const auto seen = x.read();
  REQUIRE(seen.count == 8);
  REQUIRE(seen.sum == nanoseconds{3057});
  REQUIRE(seen.bins[0] == 1);
  REQUIRE(seen.bins[1] == 1);
  REQUIRE(seen.bins[2] == 2);
  REQUIRE(seen.bins[3] == 1);
  REQUIRE(seen.bins[10] == 2);
  REQUIRE(seen.bins[11] == 1);
}

TEST_CASE("a share of the durations is at most the end of a bin") {
  histogram x;
  REQUIRE(x.read().at_most(0.5) == nanoseconds{0});
  for (int i = 0; i < 99; ++i)
    x.add(nanoseconds{100});
  x.add(nanoseconds{100'000});
  REQUIRE(x.read().at_most(0.5) == nanoseconds{127});
  REQUIRE(x.read().at_most(0.99) == nanoseconds{127});
  REQUIRE(x.read().at_most(1) == nanoseconds{131'071});
}

TEST_CASE("durations below zero count as none, and endless ones in the last bin") {
  histogram x;
  x.add(nanoseconds{-5});
  x.add(nanoseconds::max());
  REQUIRE(x.read().bins.front() == 1);
  REQUIRE(x.read().bins.back() == 1);
}

TEST_CASE("several threads add to one histogram, and none is lost") {
  histogram x;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i)
          x.add(nanoseconds{i});
      });
    REQUIRE(x.read().count <= 4000);
  }
  REQUIRE(x.read().count == 4000);
  REQUIRE(x.read().sum == nanoseconds{4 * 999 * 500});
}

} // namespace
} // namespace leat::metrics_test
