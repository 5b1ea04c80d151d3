#include "runtime/image/png/png_decoder.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/png_writer.hpp"
#include "tests/support/random_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

namespace leat::png_decoder_test {

using namespace leat::test;

namespace {

std::vector<std::uint8_t> decoded(png_decoder& decoder, std::span<const std::byte> file,
                                  std::size_t max_pixels = no_limit) {
  const auto size = decoder.open(file, max_pixels);
  const auto view = decoder.decode();
  REQUIRE(image_size{view.width, view.height} == size);
  return pixels_of(view);
}

/// A sample in 8 bits: the high ones of 16; fewer than 8 are spread from 0 to 255.
std::uint8_t to_8_bits(unsigned sample, int depth) {
  const unsigned highest = (1U << depth) - 1;
  return static_cast<std::uint8_t>(depth == 16 ? sample >> 8 : sample * 255 / highest);
}

std::vector<std::uint8_t> expected_pixels(const std::vector<unsigned>& samples,
                                          const png_kind& kind) {
  const auto step = samples_per_pixel(kind);
  const bool gray = step < 3;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(3 * samples.size() / step);
  for (std::size_t i = 0; i < samples.size(); i += step) {
    if (kind.color == PNG_COLOR_TYPE_PALETTE) {
      const auto x = palette_entry(samples[i]);
      pixels.insert(pixels.end(), {x.red, x.green, x.blue});
      continue;
    }
    for (std::size_t c = 0; c < 3; ++c)
      pixels.push_back(to_8_bits(samples[i + (gray ? 0 : c)], kind.depth));
  }
  return pixels;
}

/// Checks that the file is bad for the expected reason, and that the decoder still works. Returns
/// the error's text.
std::string check_bad(const std::vector<std::byte>& file, cause expected,
                      std::size_t max_pixels = no_limit, int line = __builtin_LINE()) {
  png_decoder decoder;
  auto text = text_of_bad(expected, line, [&] { decoded(decoder, file, max_pixels); });
  CHECK(decoded(decoder, write_png(33, 21)) == expected_pixels(png_samples(33, 21, {}), {}));
  return text;
}

png_chunk first_chunk(const std::vector<std::byte>& file, std::string_view name) {
  const auto chunks = png_chunks(file);
  const auto found =
      std::find_if(chunks.begin(), chunks.end(), [&](const auto& x) { return x.name == name; });
  REQUIRE(found != chunks.end());
  return *found;
}

void erase_chunk(std::vector<std::byte>& file, const png_chunk& chunk) {
  const auto at = [&](std::size_t x) { return file.begin() + static_cast<std::ptrdiff_t>(x); };
  file.erase(at(chunk.begin), at(chunk.end()));
}

/// One of each: IHDR, gAMA, PLTE, tRNS, tEXt, tIME, IDATs, IEND.
std::vector<std::byte> file_of_many_chunks() {
  return write_png(40, 30, {PNG_COLOR_TYPE_PALETTE, 8, false, true, true});
}

} // namespace

TEST_CASE("all color types and depths of PNGs become 8-bit RGB, interlaced or not") {
  seeded_random random;
  png_decoder decoder;
  for (auto kind : all_png_kinds())
    for (int variant = 0; variant < 4; ++variant)
      for (int image = 0; image < 10; ++image) {
        kind.interlaced = variant % 2 != 0;
        kind.transparent = variant / 2 != 0 && (kind.color & PNG_COLOR_MASK_ALPHA) == 0;
        const auto width = 1 + random() % 40;
        const auto height = 1 + random() % 40;
        CAPTURE(to_string(kind), width, height);
        const auto samples = png_samples(width, height, kind, random());
        CHECK(decoded(decoder, write_png(samples, width, height, kind))
              == expected_pixels(samples, kind));
      }
}

TEST_CASE("bytes after the last pixel of a PNG can be read") {
  png_decoder decoder;
  const auto file = write_png(50, 20);
  decoder.open(file, no_limit);
  const auto view = decoder.decode();
  CHECK(view.stride == 150);
  const auto* end = view.row(19) + 150;
  CHECK(std::count(end, end + rgb_slack, std::uint8_t{0}) == rgb_slack);
}

TEST_CASE("gamma and other metadata leave the pixels of a PNG as they are") {
  png_decoder decoder;
  const png_kind kind{.metadata = true};
  const auto file = write_png(40, 30, kind);
  CHECK(first_chunk(file, "gAMA").length == 4);
  CHECK(decoded(decoder, file) == expected_pixels(png_samples(40, 30, kind), kind));
}

TEST_CASE("a PNG without its end is called truncated, wherever it was cut, or empty") {
  check_bad({}, cause::empty);
  for (const bool adam7 : {false, true}) {
    const auto file = adam7 ? write_png(40, 30, {.interlaced = true}) : file_of_many_chunks();
    for (std::size_t size = 1; size < file.size(); ++size) {
      CAPTURE(adam7, size, file.size());
      check_bad({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}, cause::truncated);
    }
  }
  auto file = file_of_many_chunks();
  erase_chunk(file, first_chunk(file, "IEND"));
  check_bad(file, cause::truncated);
}

TEST_CASE("what follows the end chunk of a PNG does not matter") {
  auto file = write_png(40, 30);
  file.resize(file.size() + 1000, std::byte{0x55});
  png_decoder decoder;
  CHECK(decoded(decoder, file) == expected_pixels(png_samples(40, 30, {}), {}));
}

TEST_CASE("a flipped bit in any chunk of a PNG is called corrupt, and the text names the chunk") {
  const auto good = file_of_many_chunks();
  const auto chunks = png_chunks(good);
  REQUIRE(chunks.size() >= 9);
  for (const auto& chunk : chunks) {
    // In the data, if there are any, and in the checksum.
    for (const std::size_t at : {chunk.data(), chunk.end() - 5, chunk.end() - 1}) {
      CAPTURE(chunk.name, at);
      auto file = good;
      file[at] ^= std::byte{0x10};
      CHECK(check_bad(file, cause::corrupt).find("PNG: ") == 0);
    }
    auto file = good;
    file[chunk.end() - 1] ^= std::byte{1};
    CHECK(check_bad(file, cause::corrupt) == "PNG: " + chunk.name + ": CRC error");
  }
}

TEST_CASE("a broken PNG is called corrupt") {
  check_bad(bytes_of("certainly no image"), cause::corrupt);
  check_bad(bytes_of("\x89PNG\n\x1a\n, its line end gone"), cause::corrupt);
  auto file = file_of_many_chunks();
  erase_chunk(file, first_chunk(file, "PLTE"));
  CHECK(check_bad(file, cause::corrupt) == "PNG: IDAT: Missing PLTE before IDAT");
  file = file_of_many_chunks();
  file[first_chunk(file, "IHDR").data() + 9] = std::byte{5};
  repair_checksums(file);
  CHECK(check_bad(file, cause::corrupt) == "PNG: Invalid IHDR data");
  file = write_png(40, 30); // with fewer pixels than it declares
  set_number(file, first_chunk(file, "IHDR").data() + 4, 31);
  repair_checksums(file);
  CHECK(check_bad(file, cause::corrupt) == "PNG: Not enough image data");
  file = file_of_many_chunks(); // one of which nobody knows
  file[first_chunk(file, "tEXt").begin + 4] = std::byte{'T'};
  repair_checksums(file);
  CHECK(check_bad(file, cause::corrupt) == "PNG: TEXt: unhandled critical chunk");
}

TEST_CASE("an index that a PNG's palette does not have is black") {
  const png_kind kind{PNG_COLOR_TYPE_PALETTE, 8};
  auto file = write_png({0, 1, 2, 255}, 4, 1, kind);
  const auto palette = first_chunk(file, "PLTE");
  const auto begin = file.begin() + static_cast<std::ptrdiff_t>(palette.data());
  file.erase(begin + 2 * 3, begin + 256 * 3);
  set_number(file, palette.begin, 2 * 3);
  repair_checksums(file);
  auto expected = expected_pixels({0, 1}, kind);
  expected.resize(3 * 4);
  png_decoder decoder;
  CHECK(decoded(decoder, file) == expected);
}

TEST_CASE("a PNG that declares a smaller window than it uses is read all the same") {
  // Each row repeats the one before, at a distance above the 256 bytes that are declared.
  const auto row = png_samples(200, 1, {});
  auto samples = row;
  for (int y = 1; y < 5; ++y)
    samples.insert(samples.end(), row.begin(), row.end());
  auto file = write_png(samples, 200, 5);
  const auto stream = first_chunk(file, "IDAT").data();
  file[stream] = std::byte{0x08};
  file[stream + 1] = std::byte{0x1D};
  repair_checksums(file);
  png_decoder decoder;
  CHECK(decoded(decoder, file) == expected_pixels(samples, {}));
}

TEST_CASE("other formats than PNG are called unsupported") {
  CHECK(check_bad(write_jpeg(8, 8), cause::unsupported) == "a JPEG file, not a PNG");
  check_bad(bytes_of("GIF89a and so on"), cause::unsupported);
}

TEST_CASE("more pixels than the limit make a PNG too large, exactly at the limit") {
  const auto file = write_png(40, 30);
  CHECK(check_bad(file, cause::too_large, 40 * 30 - 1) == "PNG: 40 x 30 pixels, limit 1199");
  png_decoder decoder;
  CHECK(decoded(decoder, file, 40 * 30).size() == 3 * 40 * 30);
}

TEST_CASE("more pixels in a line than a JPEG has make a PNG too large") {
  CHECK(check_bad(write_png(65'536, 1), cause::too_large)
        == "PNG: 65536 x 1 pixels, limit 65535 per side");
  CHECK(check_bad(write_png(1, 65'536), cause::too_large)
        == "PNG: 1 x 65536 pixels, limit 65535 per side");
  png_decoder decoder;
  CHECK(decoded(decoder, write_png(65'535, 1), 1 << 20).size() == 3 * 65'535);
}

TEST_CASE("a PNG's huge declared size is refused before anything is allocated for it") {
  auto file = write_png(32, 32);
  const auto size_at = first_chunk(file, "IHDR").data();
  set_number(file, size_at, 0x7FFFFFFF);
  set_number(file, size_at + 4, 0x7FFFFFFF);
  repair_checksums(file);
  check_bad(file, cause::too_large, std::size_t{1} << 61);
  set_number(file, size_at, 0xFFFFFFFF);
  repair_checksums(file);
  check_bad(file, cause::corrupt);
}

TEST_CASE("libpng's warnings are not printed") {
  // More rows than declared: a warning, and the rows that are declared are read.
  auto file = write_png(40, 30);
  set_number(file, first_chunk(file, "IHDR").data() + 4, 20);
  repair_checksums(file);
  std::FILE* printed = std::tmpfile();
  REQUIRE(printed != nullptr);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(::fileno(printed), STDERR_FILENO);
  png_decoder decoder;
  const auto pixels = decoded(decoder, file);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::fseek(printed, 0, SEEK_END);
  CHECK(std::ftell(printed) == 0);
  std::fclose(printed);
  auto expected = expected_pixels(png_samples(40, 30, {}), {});
  expected.resize(40 * 20 * 3);
  CHECK(pixels == expected);
}

TEST_CASE("a palette of one PNG does not serve the next") {
  png_decoder decoder;
  auto file = write_png(16, 16, {PNG_COLOR_TYPE_PALETTE, 8});
  CHECK_FALSE(decoded(decoder, file).empty());
  erase_chunk(file, first_chunk(file, "PLTE"));
  CHECK(bad_sample_of([&] { decoded(decoder, file); }).value().first == cause::corrupt);
}

TEST_CASE("2,000 damaged PNGs leave the decoder whole") {
  seeded_random random;
  png_decoder decoder;
  const auto good = write_png(24, 20);
  const auto colored = file_of_many_chunks();
  const auto interlaced = write_png(24, 20, {.interlaced = true});
  int bad = 0;
  for (int i = 0; i < 2000; ++i) {
    auto file = with_random_bytes(i % 3 == 0 ? good : i % 3 == 1 ? colored : interlaced, random);
    repair_checksums(file);
    bad += bad_sample_of([&] { decoded(decoder, file, std::size_t{1} << 22); }) ? 1 : 0;
  }
  CHECK(bad > 200);
  CHECK(decoded(decoder, good) == expected_pixels(png_samples(24, 20, {}), {}));
}

} // namespace leat::png_decoder_test
