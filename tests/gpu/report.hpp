#pragma once

#include <optional>
#include <string>

namespace leat::gpu_check {

/// One row of the results: a line of JSON on standard output, which tests/gpu/table.py puts into a
/// table.
struct row {
  std::string check;
  /// What must be found; empty: anything, it is only measured.
  std::string wanted = {};
  std::string found;
  /// None: it is only measured.
  std::optional<bool> is_good = {};
};

void report(const row& x);
void report_skipped(const std::string& check, const std::string& why);
/// Whether a row was bad so far.
bool has_failed();

/// "12.3"
std::string number(double x, int digits = 1);

} // namespace leat::gpu_check
