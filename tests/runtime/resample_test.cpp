#include "runtime/resample.hpp"
#include "runtime/resample_avx2.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <vector>

using namespace leat;

namespace {

/// Noise by formula, so that another program can make the same.
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

struct resize_case {
  image_size image;
  pixel_rect source;
  image_size resized;
  pixel_rect window;
};

std::vector<std::uint8_t> resize(const test_image& image, const resize_case& x,
                                 resample_kernels kernels, bool mirrored = false) {
  resampler worker(kernels);
  worker.load(image.part(worker.plan(x.source, x.resized, x.window, mirrored)));
  std::vector<std::uint8_t> result;
  for (std::size_t y = 0; y < x.window.height; ++y) {
    const auto row = worker.row(y);
    result.insert(result.end(), row.begin(), row.end());
  }
  return result;
}

std::uint32_t crc32(const std::vector<std::uint8_t>& bytes) {
  std::uint32_t crc = ~0U;
  for (auto byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1U)));
  }
  return ~crc;
}

struct pillow_vector {
  resize_case what;
  std::uint32_t crc;
};

// CRC-32 (zlib) of Image.crop(source).resize(resized, BILINEAR).crop(window).tobytes(),
// computed with Pillow 12.0.0 on x86-64.
const pillow_vector pillow_vectors[] = {
    {{{7, 5}, {0, 0, 7, 5}, {7, 5}, {0, 0, 7, 5}}, 0x4e967c2aU},
    {{{7, 5}, {0, 0, 7, 5}, {3, 2}, {0, 0, 3, 2}}, 0x82cf90c4U},
    {{{2, 2}, {0, 0, 2, 2}, {9, 8}, {0, 0, 9, 8}}, 0x82579dbeU},
    {{{1, 1}, {0, 0, 1, 1}, {5, 4}, {0, 0, 5, 4}}, 0x3c5d1e7dU},
    {{{3, 40}, {0, 0, 3, 40}, {16, 7}, {0, 0, 16, 7}}, 0x42606446U},
    {{{90, 60}, {11, 7, 53, 41}, {24, 24}, {0, 0, 24, 24}}, 0x8f5a4946U},
    {{{90, 60}, {5, 3, 20, 17}, {24, 24}, {0, 0, 24, 24}}, 0xfd34a4d9U},
    {{{90, 60}, {0, 0, 90, 60}, {48, 32}, {12, 4, 24, 24}}, 0x1b5c3b6eU},
    {{{200, 150}, {1, 2, 199, 147}, {31, 29}, {3, 2, 24, 24}}, 0x569499daU},
    {{{257, 33}, {0, 0, 257, 33}, {8, 32}, {0, 4, 8, 24}}, 0x3f94be12U},
    {{{60, 60}, {3, 4, 50, 24}, {24, 24}, {0, 0, 24, 24}}, 0x66f78ea4U},
};

resize_case random_case(std::mt19937& random) {
  auto below = [&](std::size_t n) { return random() % n; };
  resize_case x;
  x.image = {1 + below(150), 1 + below(150)};
  x.source.width = 1 + below(x.image.width);
  x.source.height = 1 + below(x.image.height);
  x.source.x = below(x.image.width - x.source.width + 1);
  x.source.y = below(x.image.height - x.source.height + 1);
  x.resized = {1 + below(90), 1 + below(90)};
  x.window.width = 1 + below(x.resized.width);
  x.window.height = 1 + below(x.resized.height);
  x.window.x = below(x.resized.width - x.window.width + 1);
  x.window.y = below(x.resized.height - x.window.height + 1);
  return x;
}

std::vector<std::uint8_t> mirror(const std::vector<std::uint8_t>& pixels, std::size_t width) {
  auto result = pixels;
  for (std::size_t i = 0; i < pixels.size() / 3; ++i) {
    const auto from = i / width * width + (width - 1 - i % width);
    std::copy_n(pixels.begin() + static_cast<std::ptrdiff_t>(3 * from), 3,
                result.begin() + static_cast<std::ptrdiff_t>(3 * i));
  }
  return result;
}

} // namespace

TEST_CASE("resized pixels are Pillow's, bit for bit") {
  for (const auto& x : pillow_vectors) {
    CAPTURE(x.what.source.width, x.what.source.height, x.what.resized.width);
    const test_image image(x.what.image);
    CHECK(crc32(resize(image, x.what, plain_resample_kernels())) == x.crc);
    CHECK(crc32(resize(image, x.what, best_resample_kernels())) == x.crc);
  }
}

TEST_CASE("plain and AVX2 loops give the same bits, mirrored or not") {
  if (!has_avx2()) {
    WARN("skipped: this processor has no AVX2");
    return;
  }
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    const auto x = random_case(random);
    const test_image image(x.image);
    const auto plain = resize(image, x, plain_resample_kernels());
    CAPTURE(i, x.source.width, x.source.height, x.resized.width, x.resized.height);
    CHECK(resize(image, x, avx2_resample_kernels()) == plain);
    CHECK(resize(image, x, avx2_resample_kernels(), true) == mirror(plain, x.window.width));
  }
}

TEST_CASE("a window has the pixels of the whole result, and uses the source alone") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    const auto x = random_case(random);
    auto all = x;
    all.window = {0, 0, x.resized.width, x.resized.height};
    const test_image image(x.image);
    const auto whole = resize(image, all, best_resample_kernels());
    std::vector<std::uint8_t> expected;
    for (std::size_t y = 0; y < x.window.height; ++y) {
      const auto* row = whole.data() + 3 * ((x.window.y + y) * x.resized.width + x.window.x);
      expected.insert(expected.end(), row, row + 3 * x.window.width);
    }
    CHECK(resize(image, x, best_resample_kernels()) == expected);
    const auto needed = resampler{}.plan(x.source, x.resized, x.window, false);
    CHECK(needed.x >= x.source.x);
    CHECK(needed.y >= x.source.y);
    CHECK(needed.x + needed.width <= x.source.x + x.source.width);
    CHECK(needed.y + needed.height <= x.source.y + x.source.height);
  }
}

TEST_CASE("one resampler serves images of any size, one after the other") {
  resampler worker;
  for (std::size_t width : {90, 5, 200, 3}) {
    const resize_case x{{width, 40}, {0, 0, width, 40}, {24, 24}, {0, 0, 24, 24}};
    const test_image image(x.image);
    worker.load(image.part(worker.plan(x.source, x.resized, x.window, false)));
    const auto row = worker.row(11);
    const auto fresh = resize(image, x, best_resample_kernels());
    CHECK(std::equal(row.begin(), row.end(), fresh.begin() + 11 * 24 * 3));
  }
}
