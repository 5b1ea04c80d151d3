#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace leat::bench {

/// Median and extremes of repeated measurements.
struct spread {
  double median = 0;
  double least = 0;
  double most = 0;
};

inline spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

class stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Resident memory of this process in MB (10^6 bytes).
inline double resident_mb() {
  long pages = 0;
  long resident = 0;
  if (auto* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

inline void report(const std::string& what, const spread& x, const char* unit) {
  std::printf("%-58s %12.4g  (%.4g .. %.4g) %s\n", what.c_str(), x.median, x.least, x.most, unit);
  std::fflush(stdout);
}

} // namespace leat::bench
