#pragma once

#include "tests/support/catch.hpp"

#include <cstdint>
#include <random>
#include <string>

namespace leat::test {

/// Random numbers that are others in each run. A test that fails while it lives prints its seed.
class seeded_random : public std::mt19937 {
public:
  explicit seeded_random(std::uint32_t seed = std::random_device{}())
      : std::mt19937(seed),
        shown_(Catch::MessageBuilder("INFO", CATCH_INTERNAL_LINEINFO, Catch::ResultWas::Info)
               << "seed " << seed) {}

private:
  Catch::ScopedMessage shown_;
};

/// Bytes of all values.
template <class Random>
std::string random_bytes(Random& random, std::size_t size) {
  std::string x(size, '\0');
  for (auto& c : x)
    c = static_cast<char>(random());
  return x;
}

} // namespace leat::test
