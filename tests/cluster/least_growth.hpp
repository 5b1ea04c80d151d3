#pragma once

#include <algorithm>
#include <limits>

namespace leat::test {

/// How many times more code takes in a job of 10,000 ranks than in one of 1,000, as `cost_of` says
/// for each. What else runs on the machine may add to either, so if it is more than `most`, the
/// least of three counts.
template <class CostOf>
double least_growth(double most, const CostOf& cost_of) {
  auto least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3 && least > most; ++i) {
    const double small = cost_of(1000);
    least = std::min(least, cost_of(10'000) / small);
  }
  return least;
}

} // namespace leat::test
