#include "runtime/image/jpeg/jpeg_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/random_text.hpp"

#include <algorithm>

namespace leat::jpeg_decoder_test {

using namespace leat::test;

namespace {

/// All rows of a part of the opened image, one after the other.
std::vector<std::uint8_t> decoded(jpeg_decoder& decoder, const pixel_rect& part) {
  std::vector<std::uint8_t> result;
  decoder.start(part);
  for (auto rows = decoder.next_rows(); rows.height > 0; rows = decoder.next_rows()) {
    const auto strip = pixels_of(rows);
    result.insert(result.end(), strip.begin(), strip.end());
  }
  return result;
}

std::vector<std::uint8_t> decoded(jpeg_decoder& decoder, std::span<const std::byte> file,
                                  std::size_t max_pixels = no_limit) {
  const auto size = decoder.open(file, max_pixels);
  return decoded(decoder, {0, 0, size.width, size.height});
}

std::vector<std::uint8_t> cut(const std::vector<std::uint8_t>& pixels, std::size_t width,
                              const pixel_rect& part) {
  std::vector<std::uint8_t> result;
  for (std::size_t y = part.y; y < part.y + part.height; ++y) {
    const auto* row = pixels.data() + 3 * (y * width + part.x);
    result.insert(result.end(), row, row + 3 * part.width);
  }
  return result;
}

/// Number of parts, of `tries` random ones, whose pixels are not those of the whole.
int count_differing_parts(jpeg_decoder& decoder, const std::vector<std::byte>& file,
                          std::mt19937& random, int tries) {
  const auto whole = read_jpeg(file);
  int differing = 0;
  for (int i = 0; i < tries; ++i) {
    const auto size = decoder.open(file, no_limit);
    const auto part = random_part(size, random);
    differing += decoded(decoder, part) == cut(whole, size.width, part) ? 0 : 1;
  }
  return differing;
}

/// Checks that the file is bad for the expected reason, and that the decoder still works. Returns
/// the error's text.
std::string check_bad(const std::vector<std::byte>& file, cause expected,
                      std::size_t max_pixels = no_limit, int line = __builtin_LINE()) {
  jpeg_decoder decoder;
  auto text = text_of_bad(expected, line, [&] { decoded(decoder, file, max_pixels); });
  const auto good = write_jpeg(33, 21);
  CHECK(decoded(decoder, good) == read_jpeg(good));
  return text;
}

/// Offset of the first byte after the header of the first scan.
std::size_t scan_begin(const std::vector<std::byte>& file) {
  const auto at = find_marker(file, 0xDA);
  return at + 2 + std::to_integer<std::size_t>(file[at + 3]);
}

} // namespace

TEST_CASE("a part of a JPEG has the pixels of a full decode, whatever the sampling") {
  seeded_random random;
  jpeg_decoder decoder;
  for (const jpeg_kind& kind :
       {jpeg_kind{}, jpeg_kind{.horizontal = 2}, jpeg_kind{.horizontal = 2, .vertical = 2},
        jpeg_kind{.vertical = 2}, jpeg_kind{.horizontal = 4},
        jpeg_kind{.horizontal = 4, .vertical = 2}, jpeg_kind{.vertical = 4},
        jpeg_kind{.horizontal = 3}, jpeg_kind{.components = 1},
        jpeg_kind{.horizontal = 2, .vertical = 2, .restart = 3},
        jpeg_kind{.horizontal = 2, .vertical = 2, .progressive = true},
        jpeg_kind{.components = 1, .progressive = true}})
    for (int image = 0; image < 20; ++image) {
      const auto width = 1 + random() % 130;
      const auto height = 1 + random() % 130;
      CAPTURE(to_string(kind), width, height);
      const auto file = write_jpeg(width, height, kind, random());
      CHECK(count_differing_parts(decoder, file, random, 40) == 0);
    }
}

TEST_CASE("parts of real photographs have the pixels of a full decode") {
  const auto photos = photos_or_warning(40);
  seeded_random random;
  jpeg_decoder decoder;
  int compared = 0;
  for (const auto& photo : photos)
    if (!bad_sample_of([&] { decoded(decoder, photo); })) {
      ++compared;
      CHECK(count_differing_parts(decoder, photo, random, 3) == 0);
    }
  CHECK((compared > 30 || photos.empty()));
}

TEST_CASE("a grayscale JPEG becomes R = G = B") {
  const auto pixels = test_pixels(20, 10, 1);
  const auto file = write_jpeg(pixels, 20, 10, {.components = 1, .quality = 100});
  jpeg_decoder decoder;
  const auto rgb = decoded(decoder, file);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    CHECK(rgb[3 * i] == rgb[3 * i + 1]);
    CHECK(rgb[3 * i] == rgb[3 * i + 2]);
    CHECK(std::abs(rgb[3 * i] - pixels[i]) <= 3);
  }
}

TEST_CASE("CMYK is inverted and converted as Pillow does") {
  const jpeg_kind kind{.components = 4, .quality = 95};
  const auto file = write_jpeg(37, 29, kind);
  const auto stored = read_jpeg(file);
  jpeg_decoder decoder;
  const auto rgb = decoded(decoder, file);
  REQUIRE(rgb.size() == std::size_t{37} * 29 * 3);
  int differing = 0;
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    // light * (1 - ink / 255), both inverted in the file, in exact rounding.
    const int light = stored[i / 3 * 4 + 3];
    const int ink = 255 - stored[i / 3 * 4 + i % 3];
    differing += rgb[i] == light - (2 * ink * light + 255) / 510 ? 0 : 1;
  }
  CHECK(differing == 0);
}

TEST_CASE("an empty file is called empty") {
  check_bad({}, cause::empty);
}

TEST_CASE("a file without its end is called truncated, wherever it was cut") {
  for (const bool progressive : {false, true}) {
    const auto file = write_jpeg(64, 64, {.progressive = progressive});
    for (std::size_t size = 1; size < file.size(); size += 7) {
      CAPTURE(progressive, size, file.size());
      check_bad({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}, cause::truncated);
    }
    check_bad({file.begin(), file.end() - 1}, cause::truncated);
  }
}

TEST_CASE("an end marker in a thumbnail does not hide that the image is cut") {
  auto file = write_jpeg(64, 64);
  const auto segment = bytes_of(std::string_view{"\xFF\xE5\x00\x04\xFF\xD9", 6}); // of a program
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  file.resize(file.size() - 300);
  check_bad(file, cause::truncated);
}

TEST_CASE("a cut is found also when the part asked for lies above it") {
  auto file = write_jpeg(64, 640);
  file.resize(file.size() - 2);
  jpeg_decoder decoder;
  CHECK_THROWS_AS(decoder.open(file, no_limit), bad_sample);
}

TEST_CASE("what follows the end marker does not matter") {
  auto file = write_jpeg(40, 30);
  const auto pixels = read_jpeg(file);
  file.resize(file.size() + 1000, std::byte{0x55});
  jpeg_decoder decoder;
  CHECK(decoded(decoder, file) == pixels);
}

TEST_CASE("a broken format is called corrupt") {
  check_bad(bytes_of("certainly no image"), cause::corrupt);
  CHECK(check_bad(bytes_of("<!DOCTYPE html>\n<html><p>404"), cause::corrupt)
        == "a page of HTML, which is no image");
  // The scan's data are missing, but not its end marker.
  auto file = write_jpeg(64, 64);
  file.erase(file.begin() + static_cast<std::ptrdiff_t>(scan_begin(file) + 20), file.end() - 2);
  check_bad(file, cause::corrupt);
}

TEST_CASE("a header of nonsense is called corrupt") {
  auto file = write_jpeg(64, 64);
  file[find_marker(file, 0xDB) + 4] = std::byte{0x0F};
  check_bad(file, cause::corrupt);
}

TEST_CASE("12-bit and lossless JPEGs and other formats are called unsupported") {
  auto deep = write_jpeg(32, 32);
  deep[find_marker(deep, 0xC0) + 4] = std::byte{12};
  check_bad(deep, cause::unsupported);
  auto lossless = write_jpeg(32, 32);
  lossless[find_marker(lossless, 0xC0) + 1] = std::byte{0xC3};
  check_bad(lossless, cause::unsupported);
  check_bad(bytes_of("\x89PNG\r\n\x1a\n and so on"), cause::unsupported);
  CHECK(check_bad(bytes_of("GIF89a and so on"), cause::unsupported)
        == "a GIF file; needed: JPEG, PNG or WebP");
  check_bad(bytes_of("RIFF....WEBPVP8 "), cause::unsupported);
}

TEST_CASE("more pixels than the limit are called too large, exactly at the limit") {
  const auto file = write_jpeg(40, 30);
  check_bad(file, cause::too_large, 40 * 30 - 1);
  jpeg_decoder decoder;
  CHECK(decoded(decoder, file, 40 * 30).size() == 3 * 40 * 30);
}

TEST_CASE("a huge declared size is refused before anything is allocated for it") {
  auto file = write_jpeg(32, 32);
  const auto frame = find_marker(file, 0xC0);
  for (std::size_t i = 5; i < 9; ++i)
    file[frame + i] = std::byte{0xFA};
  check_bad(file, cause::too_large, std::size_t{1} << 27);
}

TEST_CASE("a progressive file may have many scans, but not any number of them") {
  const auto file = write_jpeg(16, 16, {.components = 1, .two_scans = true});
  const auto pixels = read_jpeg(file);
  // The first scan, repeated again and again, is valid, if silly.
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(find_marker(file, 0xDA));
  const std::byte next_segment[] = {std::byte{0xFF}, std::byte{0xC4}};
  const auto end = std::search(begin, file.end(), std::begin(next_segment), std::end(next_segment));
  REQUIRE(end != file.end());
  auto repeated = [&](int times) {
    std::vector<std::byte> bomb(file.begin(), begin);
    for (int i = 0; i < times; ++i)
      bomb.insert(bomb.end(), begin, end);
    bomb.insert(bomb.end(), end, file.end());
    return bomb;
  };
  jpeg_decoder decoder;
  CHECK(decoded(decoder, repeated(100)) == pixels);
  CHECK(check_bad(repeated(600), cause::corrupt) == "JPEG: too many scans");
}

TEST_CASE("2,000 damaged files leave the decoder whole") {
  seeded_random random;
  jpeg_decoder decoder;
  const auto good = write_jpeg(48, 40, {.horizontal = 2, .vertical = 2});
  const auto slow = write_jpeg(48, 40, {.horizontal = 2, .vertical = 2, .progressive = true});
  const auto pixels = read_jpeg(good);
  int bad = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto file = with_random_bytes(i % 4 == 0 ? slow : good, random);
    bad += bad_sample_of([&] { decoded(decoder, file, std::size_t{1} << 22); }) ? 1 : 0;
  }
  CHECK(bad > 200);
  CHECK(decoded(decoder, good) == pixels);
}

} // namespace leat::jpeg_decoder_test
