#pragma once

#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

namespace leat::test {

/// Checks that an object has these members with these values.
inline void check_members(const nlohmann::json& x, const nlohmann::json& expected) {
  CAPTURE(x);
  for (const auto& [name, value] : expected.items()) {
    CAPTURE(name);
    CHECK(x.at(name) == value);
  }
}

} // namespace leat::test
