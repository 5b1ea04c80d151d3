#pragma once

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>

#include <optional>

namespace leat {

/// The error that a call throws; nothing if it throws none.
template <class Function>
std::optional<error> problem_of(Function function) {
  try {
    function();
  } catch (const error& x) {
    return x;
  }
  return std::nullopt;
}

/// The code of the error that a call throws; nothing if it throws none.
template <class Function>
std::optional<errc> code_of(Function function) {
  const auto problem = problem_of(function);
  return problem ? std::optional{problem->code()} : std::nullopt;
}

/// Why a call calls its sample bad; nothing if it does not.
template <class Function>
std::optional<cause> cause_of(Function function) {
  try {
    function();
  } catch (const bad_sample& x) {
    return x.why();
  }
  return std::nullopt;
}

} // namespace leat
