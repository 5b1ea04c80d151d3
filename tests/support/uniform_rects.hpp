#pragma once

#include "tests/support/catch.hpp"

#include <leat/resize_plan.hpp>

#include <cmath>
#include <cstdint>

namespace leat::test {

/// Checks what a function draws for each number in an image of 1000 x 1000, of which a rectangle
/// has 0.1 to 0.3, with sides in a ratio of 0.5 to 2: these always fit, so that no try is rejected.
template <class Draw>
void check_uniform(Draw draw) {
  constexpr int tries = 20000;
  double area = 0;
  double log_ratio = 0;
  double place_x = 0;
  double place_y = 0;
  for (std::uint64_t sample_key = 0; sample_key < tries; ++sample_key) {
    const pixel_rect part = draw(sample_key);
    const auto width = static_cast<double>(part.width);
    const auto height = static_cast<double>(part.height);
    area += width * height / 1e6;
    log_ratio += std::log(width / height);
    place_x += static_cast<double>(part.x) / (1000 - width);
    place_y += static_cast<double>(part.y) / (1000 - height);
  }
  // Five standard errors of a mean of 20,000.
  CHECK(std::abs(area / tries - 0.2) < 5 * 0.2 / std::sqrt(12.0 * tries));
  CHECK(std::abs(log_ratio / tries) < 5 * std::log(4.0) / std::sqrt(12.0 * tries));
  CHECK(std::abs(place_x / tries - 0.5) < 5 / std::sqrt(12.0 * tries));
  CHECK(std::abs(place_y / tries - 0.5) < 5 / std::sqrt(12.0 * tries));
}

} // namespace leat::test
