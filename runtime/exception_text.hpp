#pragma once

#include <exception>
#include <string>

namespace leat {

/// What the exception in flight says. Call it inside of a catch block.
inline std::string exception_text() {
  try {
    throw;
  } catch (const std::exception& problem) {
    return problem.what();
  } catch (...) {
    return "threw something that is no std::exception";
  }
}

} // namespace leat
