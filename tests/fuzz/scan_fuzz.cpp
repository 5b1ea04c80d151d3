// leat's own decoder of scans against libjpeg: what it accepts has libjpeg's coefficients and no
// complaint from libjpeg, whichever MCUs are decoded, in whatever groups, from wherever.
#include "tests/fuzz/checks.hpp"
#include "tests/support/scan_check.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t max_mcus = 1024; // keeps a run fast

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static leat::test::scan_check checker;
  const auto file = std::as_bytes(std::span{data, size});
  const auto result = checker.check(file, hash(file), max_mcus);
  if (result.problem.empty())
    return 0;
  std::fprintf(stderr, "%s\n", result.problem.c_str());
  std::abort();
}
