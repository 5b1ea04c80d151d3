#include "tools/leat/bench/spread.hpp"

#include "tools/leat/output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

namespace leat::command {

spread spread_of(series values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values.front(), values.back()};
}

series ratios(const series& a, const series& b) {
  series result(a.size());
  std::transform(a.begin(), a.end(), b.begin(), result.begin(), std::divides<>{});
  return result;
}

std::string to_text(const spread& x, int decimals) {
  auto number = [&](double value) {
    return decimals > 0 ? fixed(value, decimals)
                        : with_commas(static_cast<std::uint64_t>(std::llround(value)));
  };
  return number(x.median) + "  (" + number(x.low) + " .. " + number(x.high) + ")";
}

} // namespace leat::command
