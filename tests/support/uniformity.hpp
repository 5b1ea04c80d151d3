#pragma once

#include <cmath>
#include <numeric>
#include <vector>

namespace leat::test {

/// How many standard deviations the counts are from uniform: the chi-square statistic by the
/// normal approximation of Wilson and Hilferty.
template <class Count>
double sigmas_from_uniform(const std::vector<Count>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), Count{0}));
  const double expected = total / static_cast<double>(counts.size());
  double chi_square = 0;
  for (auto count : counts)
    chi_square += std::pow(static_cast<double>(count) - expected, 2) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  const double variance = 2.0 / (9.0 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - variance)) / std::sqrt(variance);
}

constexpr double most_sigmas = 6;

} // namespace leat::test
