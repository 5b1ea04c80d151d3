#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <initializer_list>
#include <string>
#include <string_view>

namespace leat {

inline bool says(const error& x, std::string_view part) {
  return std::string_view{x.what()}.find(part) != std::string_view::npos;
}

/// Checks that a call throws an error with this code, whose text has all these parts. Returns it.
template <class Function>
error check_refusal(Function call, errc code, std::initializer_list<std::string_view> parts = {}) {
  const auto problem = problem_of(call);
  REQUIRE(problem);
  CAPTURE(problem->what());
  CHECK(problem->code() == code);
  for (const auto part : parts) {
    CAPTURE(part);
    CHECK(says(*problem, part));
  }
  return *problem;
}

} // namespace leat
