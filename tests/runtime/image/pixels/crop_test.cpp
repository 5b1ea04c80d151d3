#include "runtime/image/pixels/crop.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/uniform_rects.hpp"

namespace leat::crop_test {
namespace {

const crop_ranges usual{{0.08, 1.0}, {3.0 / 4.0, 4.0 / 3.0}};

bool inside(const pixel_rect& crop, const image_size& image) {
  return crop.width >= 1 && crop.height >= 1 && crop.x + crop.width <= image.width
         && crop.y + crop.height <= image.height;
}

} // namespace

TEST_CASE("random crops lie within the image, with areas and ratios in range") {
  const image_size image{500, 375};
  for (std::uint64_t sample_key = 0; sample_key < 5000; ++sample_key) {
    rng random(1, sample_key);
    const auto crop = random_crop(image, usual, random);
    REQUIRE(inside(crop, image));
    const auto share = static_cast<double>(crop.width * crop.height) / (500.0 * 375.0);
    const auto ratio = static_cast<double>(crop.width) / static_cast<double>(crop.height);
    // Sides are rounded to pixels; the smallest is about 106.
    CHECK(share > 0.08 * 0.99);
    CHECK(ratio > 0.75 * 0.99);
    CHECK(ratio < 4.0 / 3.0 * 1.01);
  }
}

TEST_CASE("area is uniform, the logarithm of the ratio too, and all places are alike") {
  test::check_uniform([](std::uint64_t sample_key) {
    rng random(2, sample_key);
    return random_crop({1000, 1000}, {{0.1, 0.3}, {0.5, 2.0}}, random);
  });
}

TEST_CASE("an image that no crop fits gives the largest central one in ratio") {
  const crop_ranges whole{{1.0, 1.0}, {3.0 / 4.0, 4.0 / 3.0}};
  rng random(3, 0);
  CHECK(random_crop({1000, 30}, whole, random) == pixel_rect{480, 0, 40, 30});
  CHECK(random_crop({30, 1000}, whole, random) == pixel_rect{0, 480, 30, 40});
  const crop_ranges square{{0.9, 0.9}, {1.0, 1.0}};
  CHECK(random_crop({1, 1}, square, random) == pixel_rect{0, 0, 1, 1});
}

TEST_CASE("even images of one pixel's height give a crop") {
  for (std::uint64_t sample_key = 0; sample_key < 200; ++sample_key) {
    rng random(4, sample_key);
    CHECK(inside(random_crop({3000, 1}, usual, random), {3000, 1}));
  }
}

TEST_CASE("the same random numbers give the same crop") {
  rng a(5, 77);
  rng b(5, 77);
  CHECK(random_crop({640, 480}, usual, a) == random_crop({640, 480}, usual, b));
  CHECK(a.bits64() == b.bits64());
}

TEST_CASE("the shorter side is resized, the longer one rounded down, the middle kept") {
  // 256 * 500 / 375 = 341.33; (341 - 224) / 2 = 58.5 is rounded to even.
  CHECK(resized_to_shorter({500, 375}, 256) == image_size{341, 256});
  CHECK(central_part({341, 256}, {224, 224}) == pixel_rect{58, 16, 224, 224});
  // 256 * 400 / 300 = 341.33, upright; (343 - 224) / 2 = 59.5 is rounded to 60.
  CHECK(resized_to_shorter({300, 402}, 256) == image_size{256, 343});
  CHECK(central_part({256, 343}, {224, 224}) == pixel_rect{16, 60, 224, 224});
  CHECK(resized_to_shorter({77, 77}, 256) == image_size{256, 256});
  CHECK(resized_to_shorter({1, 65500}, 256) == image_size{256, 16768000});
}

TEST_CASE("what is smaller than its crop gets black around it, the odd pixel right and below") {
  const auto x = padding_to({10, 21}, {13, 20});
  CHECK(std::array{x.left, x.right, x.top, x.bottom} == std::array<std::size_t, 4>{1, 2, 0, 0});
}

} // namespace leat::crop_test
