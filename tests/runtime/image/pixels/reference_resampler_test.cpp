#include "runtime/image/pixels/reference_resampler.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/random_text.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace leat::reference_resampler_test {
namespace {

/// Noise by a formula, so that another program can produce the same.
std::uint8_t noise(std::size_t x, std::size_t y, std::size_t channel) {
  auto v =
      static_cast<std::uint32_t>(x * 2654435761U + y * 40503U * 65537U + channel * 2246822519U);
  v = (v ^ v >> 15) * 2246822519U;
  v = (v ^ v >> 13) * 3266489917U;
  return static_cast<std::uint8_t>(v >> 24);
}

/// An image that ends with the slack that rgb_view promises.
struct test_image {
  image_size size;
  std::vector<std::uint8_t> pixels;

  explicit test_image(const image_size& extents) : size(extents) {
    for (std::size_t y = 0; y < size.height; ++y)
      for (std::size_t x = 0; x < size.width; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          pixels.push_back(noise(x, y, c));
    pixels.resize(pixels.size() + rgb_slack, 0xAA);
  }

  rgb_view part(const pixel_rect& r) const {
    return {pixels.data() + 3 * (r.y * size.width + r.x), r.width, r.height, 3 * size.width};
  }
};

/// As Pillow does it: weights of 22 bits, rows first, rounded to 8 bits, then columns, rounded
/// again. Source: Pillow's src/libImaging/Resample.c.
std::uint8_t pillow_sum(const axis_weights& axis, std::size_t i, const std::uint8_t* from,
                        std::size_t step) {
  std::int32_t sum = 1 << 21;
  for (std::size_t t = 0; t < axis.count[i]; ++t)
    sum += static_cast<std::int32_t>(0.5 + axis.at(i)[t] * (1 << 22))
           * from[(axis.first[i] + t) * step];
  return static_cast<std::uint8_t>(std::min(sum >> 22, 255));
}

std::vector<std::uint8_t> pillow_resize(const test_image& image, const resize_plan& what) {
  axis_weights columns;
  axis_weights rows;
  columns.plan(cut_across(what));
  rows.plan(cut_down(what));
  const auto width = what.window.width;
  std::vector<std::uint8_t> narrowed(image.size.height * width * 3);
  for (std::size_t y = 0; y < image.size.height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        narrowed[(y * width + x) * 3 + c] =
            pillow_sum(columns, x, image.pixels.data() + y * image.size.width * 3 + c, 3);
  std::vector<std::uint8_t> result;
  for (std::size_t y = 0; y < what.window.height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        result.push_back(pillow_sum(rows, y, narrowed.data() + x * 3 + c, 3 * width));
  return result;
}

/// Resizes strip by strip, to interleaved uint8 R, G, B.
std::vector<std::uint8_t> resize(reference_resampler& worker, const test_image& image,
                                 const resize_plan& what) {
  const auto part = worker.plan(what);
  for (std::size_t y = 0; y < part.height; y += 7)
    worker.load(
        image.part({part.x, part.y + y, part.width, std::min<std::size_t>(7, part.height - y)}));
  std::vector<std::uint8_t> result(what.window.width * what.window.height * 3);
  worker.write({.type = dtype::u8, .layout = image_layout::nhwc},
               reinterpret_cast<std::byte*>(result.data()));
  return result;
}

std::vector<std::uint8_t> resize(const test_image& image, const resize_plan& what) {
  reference_resampler worker;
  return resize(worker, image, what);
}

struct pillow_vector {
  image_size image;
  resize_plan what;
  std::uint32_t crc;
};

// CRC-32 (zlib) of Image.crop(source).resize(resized, BILINEAR).crop(window).tobytes(),
// computed with Pillow 12.0.0 on x86-64.
const pillow_vector pillow_vectors[] = {
    {{7, 5}, {{0, 0, 7, 5}, {7, 5}, {0, 0, 7, 5}}, 0x4e967c2aU},
    {{7, 5}, {{0, 0, 7, 5}, {3, 2}, {0, 0, 3, 2}}, 0x82cf90c4U},
    {{2, 2}, {{0, 0, 2, 2}, {9, 8}, {0, 0, 9, 8}}, 0x82579dbeU},
    {{1, 1}, {{0, 0, 1, 1}, {5, 4}, {0, 0, 5, 4}}, 0x3c5d1e7dU},
    {{3, 40}, {{0, 0, 3, 40}, {16, 7}, {0, 0, 16, 7}}, 0x42606446U},
    {{90, 60}, {{11, 7, 53, 41}, {24, 24}, {0, 0, 24, 24}}, 0x8f5a4946U},
    {{90, 60}, {{5, 3, 20, 17}, {24, 24}, {0, 0, 24, 24}}, 0xfd34a4d9U},
    {{90, 60}, {{0, 0, 90, 60}, {48, 32}, {12, 4, 24, 24}}, 0x1b5c3b6eU},
    {{200, 150}, {{1, 2, 199, 147}, {31, 29}, {3, 2, 24, 24}}, 0x569499daU},
    {{257, 33}, {{0, 0, 257, 33}, {8, 32}, {0, 4, 8, 24}}, 0x3f94be12U},
    {{60, 60}, {{3, 4, 50, 24}, {24, 24}, {0, 0, 24, 24}}, 0x66f78ea4U},
};

} // namespace

TEST_CASE("resized pixels are Pillow's, up to its own roundings") {
  for (const auto& x : pillow_vectors) {
    CAPTURE(x.what.source.width, x.what.source.height, x.what.resized.width);
    const test_image image(x.image);
    const auto pillow = pillow_resize(image, x.what);
    REQUIRE(::crc32(0, pillow.data(), static_cast<uInt>(pillow.size())) == x.crc);
    const auto exact = resize(image, x.what);
    REQUIRE(exact.size() == pillow.size());
    int worst = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
      worst = std::max(worst, std::abs(exact[i] - pillow[i]));
    CHECK(worst <= 1);
  }
}

TEST_CASE("a window has the pixels of the whole result, uses only the source, and is mirrored") {
  test::seeded_random random;
  for (int i = 0; i < 200; ++i) {
    const test_image image({1 + random() % 150, 1 + random() % 150});
    auto plan = test::random_plan(image.size, 90, random);
    plan.mirrored = true;
    const auto turned = resize(image, plan);
    plan.mirrored = false;
    const auto got = resize(image, plan);
    auto all = plan;
    all.window = {0, 0, all.resized.width, all.resized.height};
    const auto whole = resize(image, all);
    const auto& window = plan.window;
    int differing = 0;
    for (std::size_t y = 0; y < window.height; ++y)
      for (std::size_t column = 0; column < window.width; ++column)
        for (std::size_t c = 0; c < 3; ++c) {
          const auto want = whole[3 * ((window.y + y) * all.resized.width + window.x + column) + c];
          const auto row = y * window.width;
          differing += got[3 * (row + column) + c] == want ? 0 : 1;
          differing += turned[3 * (row + window.width - 1 - column) + c] == want ? 0 : 1;
        }
    CHECK(differing == 0);
    const auto needed = reference_resampler{}.plan(plan);
    const auto& source = plan.source;
    CHECK(needed.x >= source.x);
    CHECK(needed.y >= source.y);
    CHECK(needed.x + needed.width <= source.x + source.width);
    CHECK(needed.y + needed.height <= source.y + source.height);
  }
}

TEST_CASE("one reference resampler serves images of any size, one after the other") {
  reference_resampler worker;
  for (const std::size_t width : {90, 5, 200, 3}) {
    const resize_plan what{{0, 0, width, 40}, {24, 24}, {0, 0, 24, 24}};
    const test_image image({width, 40});
    CHECK(resize(worker, image, what) == resize(image, what));
  }
}

} // namespace leat::reference_resampler_test
