#pragma once

#include <string>
#include <vector>

namespace leat::command {

/// Repeated measurements, one after the other.
using series = std::vector<double>;

/// Median and extremes of a series, which is not empty.
struct spread {
  double median = 0;
  double low = 0;
  double high = 0;
};

spread spread_of(series values);

/// Element by element, of equal lengths: one ratio per round, so that what slows a round cancels
/// out.
series ratios(const series& a, const series& b);

/// "1,234 (1,200 .. 1,300)": with commas if there are no decimals.
std::string to_text(const spread& x, int decimals);

} // namespace leat::command
