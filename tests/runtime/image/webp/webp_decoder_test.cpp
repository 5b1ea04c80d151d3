#include "runtime/image/image_reader.hpp"
#include "runtime/image/webp/webp_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/png_writer.hpp"
#include "tests/support/thrown_error.hpp"

#include <webp/decode.h>
#include <webp/encode.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace leat::webp_decoder_test {
namespace {

using test::no_limit;
using pixels = std::vector<std::uint8_t>;
using bytes = std::vector<std::byte>;

pixels drawn(int width, int height, std::uint32_t seed) {
  return test::test_pixels(static_cast<std::size_t>(width), static_cast<std::size_t>(height), 3,
                           seed);
}

bytes taken(std::uint8_t* made, std::size_t size) {
  REQUIRE(size > 0);
  bytes file(size);
  std::memcpy(file.data(), made, size);
  ::WebPFree(made);
  return file;
}

/// With alpha if there are four bytes per pixel.
bytes lossless(const pixels& x, int width, int height) {
  std::uint8_t* made = nullptr;
  const auto stride = static_cast<int>(x.size()) / height;
  const auto write = stride == 4 * width ? ::WebPEncodeLosslessRGBA : ::WebPEncodeLosslessRGB;
  const auto size = write(x.data(), width, height, stride, &made);
  return taken(made, size);
}

bytes lossy(const pixels& rgb, int width, int height, float quality) {
  std::uint8_t* made = nullptr;
  const auto size = ::WebPEncodeRGB(rgb.data(), width, height, 3 * width, quality, &made);
  return taken(made, size);
}

pixels decoded(webp_decoder& by, std::span<const std::byte> file) {
  const auto size = by.open(file, no_limit);
  const auto view = by.decode();
  REQUIRE(image_size{view.width, view.height} == size);
  return test::pixels_of(view);
}

std::optional<cause> why_bad(std::span<const std::byte> file, std::size_t max_pixels = no_limit) {
  return cause_of([&] {
    webp_decoder by;
    by.open(file, max_pixels);
    by.decode();
  });
}

TEST_CASE("WebP: lossless images come as they were, alpha is dropped") {
  webp_decoder by;
  for (const auto& [width, height] : {std::pair{1, 1}, {17, 5}, {64, 48}, {5, 200}}) {
    const auto rgb = drawn(width, height, 7);
    CHECK(decoded(by, lossless(rgb, width, height)) == rgb);
    pixels rgba;
    for (std::size_t i = 0; i < rgb.size(); i += 3)
      rgba.insert(rgba.end(), {rgb[i], rgb[i + 1], rgb[i + 2], static_cast<std::uint8_t>(i | 1)});
    CHECK(decoded(by, lossless(rgba, width, height)) == rgb);
  }
}

TEST_CASE("WebP: lossy images have the pixels that libwebp gives") {
  webp_decoder by;
  for (const auto& [width, height] : {std::pair{1, 1}, {33, 31}, {100, 64}})
    for (const float quality : {5.F, 80.F}) {
      const auto file = lossy(drawn(width, height, 9), width, height, quality);
      int found_width = 0;
      int found_height = 0;
      auto* own = ::WebPDecodeRGB(reinterpret_cast<const std::uint8_t*>(file.data()), file.size(),
                                  &found_width, &found_height);
      REQUIRE(own);
      const pixels want(own, own + 3 * width * height);
      ::WebPFree(own);
      CHECK(decoded(by, file) == want);
    }
}

TEST_CASE("WebP: the reader makes the same tensors of it as of a PNG with these pixels") {
  constexpr int width = 90;
  constexpr int height = 70;
  const auto rgb = drawn(width, height, 3);
  const std::vector<unsigned> samples(rgb.begin(), rgb.end());
  const auto png = test::write_png(samples, width, height);
  const auto webp = lossless(rgb, width, height);
  const resize_plan plan{.source = {.x = 3, .y = 5, .width = 70, .height = 60},
                         .resized = {32, 32},
                         .window = {.x = 0, .y = 0, .width = 32, .height = 32},
                         .mirrored = true};
  image_reader reader;
  const auto made = [&](std::span<const std::byte> file, bool exact) {
    bytes x(std::size_t{3} * 32 * 32);
    CHECK(reader.open(file, no_limit) == image_size{width, height});
    const tensor_form form{.type = dtype::u8};
    exact ? reader.make_exact(plan, form, x.data()) : reader.make(plan, form, x.data());
    return x;
  };
  for (const bool exact : {false, true})
    CHECK(made(webp, exact) == made(png, exact));
}

TEST_CASE("WebP: a file that is cut anywhere is bad, a longer one is not") {
  const auto rgb = drawn(20, 20, 1);
  for (const auto& file : {lossless(rgb, 20, 20), lossy(rgb, 20, 20, 50)}) {
    for (std::size_t size = 12; size < file.size(); ++size)
      CHECK(why_bad(std::span{file}.first(size)) == cause::truncated);
    auto longer = file;
    longer.insert(longer.end(), 100, std::byte{1});
    webp_decoder by;
    CHECK(decoded(by, longer) == decoded(by, file));
  }
}

TEST_CASE(
    "WebP: damage makes a bad sample or other pixels, and leaves no trace in the next image") {
  std::mt19937 random{5};
  const auto rgb = drawn(40, 30, 2);
  webp_decoder by;
  for (const auto& file : {lossless(rgb, 40, 30), lossy(rgb, 40, 30, 75)}) {
    const auto want = decoded(by, file);
    for (int i = 0; i < 300; ++i) {
      auto damaged = file;
      damaged[12 + random() % (file.size() - 12)] ^= static_cast<std::byte>(1U << random() % 8);
      try {
        by.open(damaged, 1 << 16);
        by.decode();
      } catch (const bad_sample&) {
      }
      REQUIRE(decoded(by, file) == want);
    }
  }
}

TEST_CASE("WebP: too many pixels are refused, and so are animations") {
  const auto file = lossless(drawn(20, 10, 1), 20, 10);
  CHECK(why_bad(file, 199) == cause::too_large);
  CHECK_FALSE(why_bad(file, 200));
  // An extended header whose animation flag is set.
  std::string text{"RIFF\x12\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\x09\0\0\x09\0\0", 30};
  text[4] = static_cast<char>(text.size() - 8);
  CHECK(why_bad(std::as_bytes(std::span{text})) == cause::unsupported);
}

} // namespace
} // namespace leat::webp_decoder_test
