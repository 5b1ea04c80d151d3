#pragma once

// What nearly every test begins with: Catch2, headers of the standard library, and how a test looks
// at errors and texts.

#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace leat {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// The error that a call throws; the test fails if it throws none.
template <class Function>
error thrown_by(Function function) {
  const auto problem = problem_of(function);
  if (!problem)
    FAIL("no error");
  return *problem;
}

} // namespace leat
