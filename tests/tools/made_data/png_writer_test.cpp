#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include "tools/made_data/png_writer.hpp"
#include <png.h>

namespace leat::png_writer_test {
namespace {

namespace fs = std::filesystem;

rgb_image read_png(const fs::path& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&png, path.c_str()) != 0);
  png.format = PNG_FORMAT_RGB;
  rgb_image image(png.width, png.height);
  REQUIRE(png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr) != 0);
  return image;
}

std::array<int, 3> pixel(const rgb_image& image, std::size_t x, std::size_t y) {
  const auto* p = image.row(y) + 3 * x;
  return {p[0], p[1], p[2]};
}

TEST_CASE("libpng reads back the pixels that were written") {
  rgb_image image(7, 5);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(i * 37);
  const test::temporary_directory scratch;
  write_png(scratch / "a.png", image);
  const auto copy = read_png(scratch / "a.png");
  CHECK(copy.width == 7);
  CHECK(copy.height == 5);
  CHECK(copy.pixels == image.pixels);
}

TEST_CASE("pixels that do not fit width and height are refused before a file is made") {
  const test::temporary_directory scratch;
  const auto path = scratch / "a.png";
  const std::vector<std::uint8_t> rgb(3 * 4 * 3 - 1);
  CHECK_THROWS_AS(write_png(path, 3, 4, rgb), error);
  CHECK_THROWS_AS(write_png(path, 0, 0, {}), error);
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a PNG in a directory that does not exist is an io error with the system's text") {
  const auto problem =
      check_refusal([] { write_png("/does/not/exist.png", rgb_image(1, 1)); }, errc::io);
  CHECK(problem.details().file == "/does/not/exist.png");
  CHECK_FALSE(problem.details().got.empty());
}

TEST_CASE("a contact sheet centres each tile in a cell of the largest width and height") {
  const std::vector<rgb_image> tiles{rgb_image(4, 2, 10), rgb_image(2, 6, 20), rgb_image(1, 1, 30)};
  const auto sheet = contact_sheet(tiles, 2, 3);
  CHECK(sheet.width == 3 + 4 + 3 + 4 + 3);
  CHECK(sheet.height == 3 + 6 + 3 + 6 + 3);
  const struct {
    std::size_t x, y;
    int gray;
  } expected[] = {{0, 0, 255}, {3, 4, 255}, {3, 5, 10},  {6, 6, 10},  {10, 3, 255},
                  {11, 3, 20}, {12, 8, 20}, {4, 14, 30}, {5, 14, 255}};
  for (const auto& [x, y, gray] : expected) {
    CAPTURE(x, y);
    CHECK(pixel(sheet, x, y) == std::array<int, 3>{gray, gray, gray});
  }
}

} // namespace

} // namespace leat::png_writer_test
