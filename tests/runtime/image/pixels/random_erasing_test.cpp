#include "runtime/image/pixels/random_erasing.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/uniform_rects.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace leat::random_erasing_test {
namespace {

const erasing_ranges always{1, {0.02, 0.33}, {0.3, 3.3}};

std::optional<pixel_rect> drawn(const image_size& image, const erasing_ranges& ranges,
                                std::uint64_t sample_key) {
  rng random(7, sample_key);
  return draw_erased(image, ranges, random);
}

} // namespace

TEST_CASE("erased rectangles lie within the image, with areas and ratios in range") {
  const image_size image{400, 300};
  for (std::uint64_t sample_key = 0; sample_key < 5000; ++sample_key) {
    const auto erased = drawn(image, always, sample_key);
    REQUIRE(erased.has_value());
    REQUIRE(erased->width >= 1);
    REQUIRE(erased->height >= 1);
    REQUIRE(erased->width < image.width);
    REQUIRE(erased->height < image.height);
    CHECK(erased->x + erased->width <= image.width);
    CHECK(erased->y + erased->height <= image.height);
    const auto width = static_cast<double>(erased->width);
    const auto height = static_cast<double>(erased->height);
    // Sides are rounded to pixels: by up to half a pixel of at least 26.
    CHECK(width * height / (400 * 300) > 0.02 * 0.96);
    CHECK(width * height / (400 * 300) < 0.33 * 1.01);
    CHECK(height / width > 0.3 * 0.97);
    CHECK(height / width < 3.3 * 1.03);
  }
}

TEST_CASE("the ratio is height by width, as torchvision takes it") {
  const auto tall = drawn({100, 100}, {1, {0.01, 0.01}, {4, 4}}, 0);
  REQUIRE(tall.has_value());
  CHECK(tall->width == 5);
  CHECK(tall->height == 20);
}

TEST_CASE("erased area is uniform, the logarithm of the ratio too, and all places are alike") {
  test::check_uniform([](std::uint64_t sample_key) {
    return drawn({1000, 1000}, {1, {0.1, 0.3}, {0.5, 2.0}}, sample_key).value();
  });
}

TEST_CASE("images are erased with the probability asked for") {
  constexpr int tries = 20000;
  for (const double probability : {0.0, 0.25, 1.0}) {
    int erased = 0;
    for (std::uint64_t sample_key = 0; sample_key < tries; ++sample_key)
      erased += drawn({100, 100}, {probability, {0.1, 0.2}, {1, 1}}, sample_key) ? 1 : 0;
    const double error = std::sqrt(probability * (1 - probability) / tries);
    CHECK(std::abs(static_cast<double>(erased) / tries - probability) <= 5 * error);
  }
}

TEST_CASE("nothing is erased where no rectangle fits, or none has a pixel") {
  for (std::uint64_t sample_key = 0; sample_key < 100; ++sample_key) {
    CHECK_FALSE(drawn({100, 100}, {1, {1, 1}, {1, 1}}, sample_key).has_value());
    CHECK_FALSE(drawn({1, 1}, always, sample_key).has_value());
    CHECK_FALSE(drawn({3000, 1}, always, sample_key).has_value());
    // 100 x 25 and 25 x 100: as wide, or as high, as the image.
    CHECK_FALSE(drawn({100, 50}, {1, {0.5, 0.5}, {0.25, 0.25}}, sample_key).has_value());
    CHECK_FALSE(drawn({50, 100}, {1, {0.5, 0.5}, {4, 4}}, sample_key).has_value());
    CHECK_FALSE(drawn({10, 10}, {1, {0, 0}, {1, 1}}, sample_key).has_value());
    // A ratio beyond all numbers of pixels.
    CHECK_FALSE(drawn({64, 48}, {1, {0.1, 0.2}, {1e-300, 1e-290}}, sample_key).has_value());
  }
}

TEST_CASE("every place can be erased, the last row and column too") {
  std::map<std::pair<std::size_t, std::size_t>, int> places;
  for (std::uint64_t sample_key = 0; sample_key < 400; ++sample_key) {
    const auto erased = drawn({3, 2}, {1, {0.16, 0.17}, {1, 1}}, sample_key);
    REQUIRE(erased.has_value());
    CHECK(erased->width * erased->height == 1);
    ++places[{erased->x, erased->y}];
  }
  CHECK(places.size() == 6);
}

TEST_CASE("area, ratio, top and left are drawn in this order") {
  rng random(9, 3);
  const auto erased = draw_erased({200, 100}, {0.999, {0.1, 0.2}, {0.5, 2}}, random);
  REQUIRE(erased.has_value());
  rng other(9, 3);
  other.uniform();
  const double area = 200 * 100 * other.uniform(0.1, 0.2);
  const double ratio = std::exp(other.uniform(std::log(0.5), std::log(2)));
  CHECK(erased->height == static_cast<std::size_t>(std::nearbyint(std::sqrt(area * ratio))));
  CHECK(erased->width == static_cast<std::size_t>(std::nearbyint(std::sqrt(area / ratio))));
  CHECK(erased->y == other.below(100 - erased->height + 1));
  CHECK(erased->x == other.below(200 - erased->width + 1));
  CHECK(random.bits64() == other.bits64());
}

TEST_CASE("a rectangle is tried ten times, with two draws each") {
  rng random(8, 0);
  CHECK_FALSE(draw_erased({100, 100}, {1, {1, 1}, {1, 1}}, random).has_value());
  rng other(8, 0);
  for (int i = 0; i < 1 + 2 * 10; ++i)
    other.bits64();
  CHECK(random.bits64() == other.bits64());
}

} // namespace leat::random_erasing_test
