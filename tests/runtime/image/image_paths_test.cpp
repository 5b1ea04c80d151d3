// All ways from a file to pixels give the same bits, and differ little from the reference.
#include "runtime/image/jpeg/dct_scale.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/image_plans.hpp"
#include "tests/support/image_ways.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace leat::image_paths_test {

using namespace leat::test;

namespace {

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> x(bytes.size() / sizeof(float));
  std::memcpy(x.data(), bytes.data(), bytes.size());
  return x;
}

/// Differences of an image from the reference, in 255ths.
struct difference {
  double mean = 0;
  double highest = 0;
};

difference compare(image_ways& ways, std::span<const std::byte> file, const resize_plan& what) {
  const tensor_form plain{.type = dtype::f32};
  const auto got = ways.make(0, file, what, plain);
  const auto want = ways.make_exact(file, what, plain);
  REQUIRE_FALSE(got.why.has_value());
  REQUIRE_FALSE(want.why.has_value());
  REQUIRE(got.pixels.size() == want.pixels.size());
  const auto a = floats_of(got.pixels);
  const auto b = floats_of(want.pixels);
  difference x;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double distance = 255 * std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    x.mean += distance / static_cast<double>(a.size());
    x.highest = std::max(x.highest, distance);
  }
  return x;
}

/// Over many images.
struct differences {
  double sum = 0;
  int images = 0;
  double worst_mean = 0;
  double highest = 0;

  void add(const difference& x) {
    sum += x.mean;
    ++images;
    worst_mean = std::max(worst_mean, x.mean);
    highest = std::max(highest, x.highest);
  }
  std::string text() const {
    return std::to_string(images) + " images: mean " + std::to_string(sum / images)
           + ", worst image " + std::to_string(worst_mean) + ", highest error "
           + std::to_string(highest) + " of 255";
  }
};

std::vector<jpeg_kind> written_kinds() {
  using kind = jpeg_kind;
  return std::vector(
      {kind{}, kind{.horizontal = 2}, kind{.vertical = 2}, kind{.horizontal = 2, .vertical = 2},
       kind{.horizontal = 4}, kind{.vertical = 4}, kind{.horizontal = 4, .vertical = 2},
       kind{.components = 1}, kind{.components = 1, .horizontal = 2, .vertical = 2},
       kind{.horizontal = 2, .vertical = 2, .restart = 3},
       kind{.horizontal = 2, .progressive = true},
       kind{.horizontal = 2, .vertical = 2, .optimized = true}, kind{.rgb = true},
       kind{.other_horizontal = 2, .other_vertical = 2},
       kind{.horizontal = 2, .vertical = 2, .other_horizontal = 2}, kind{.components = 4}});
}

constexpr std::pair<std::size_t, std::size_t> written_sizes[] = {
    {1, 1}, {2, 1}, {1, 3}, {5, 4}, {8, 8}, {17, 9}, {33, 47}, {200, 130}, {2000, 3}, {3, 2000}};

/// Noise, which is cut at 0 and 255, or colours that stay well within.
std::vector<std::byte> written(std::size_t width, std::size_t height, const jpeg_kind& kind,
                               bool gentle) {
  auto pixels = test_pixels(width, height, static_cast<std::size_t>(kind.components));
  if (gentle)
    for (auto& x : pixels)
      x = static_cast<std::uint8_t>(104 + x / 8);
  return write_jpeg(pixels, width, height, kind);
}

differences compare_written(image_ways& ways, const jpeg_kind& kind, bool gentle) {
  differences all;
  for (const auto& [width, height] : written_sizes) {
    const auto file = written(width, height, kind, gentle);
    const image_size size{width, height};
    for (std::uint32_t i = 0; i < 4; ++i)
      all.add(compare(ways, file, train_plan(size, i, 0.08, 57)));
    all.add(compare(ways, file, thumbnail_plan(size, 5)));
  }
  return all;
}

/// Checks all ways, in all forms: `form` chooses one, so that many plans try all of them.
void check_same(image_ways& ways, std::span<const std::byte> file, const resize_plan& what,
                std::size_t form) {
  static const auto all = forms();
  CAPTURE(to_string(what), form % all.size());
  const auto places = ways.survey(file);
  image_outcome first;
  CHECK(ways.differing(file, what, all[form % all.size()], places, first) == "");
  CHECK(first.text == "");
}

} // namespace

TEST_CASE("all ways and instruction sets give the same pixels of written files") {
  seeded_random random;
  image_ways ways(no_limit);
  std::size_t form = 0;
  for (const auto& kind : written_kinds())
    for (const auto& [width, height] : written_sizes) {
      CAPTURE(to_string(kind), width, height);
      const auto file = write_jpeg(width, height, kind);
      const image_size size{width, height};
      check_same(ways, file, tiny_plan(size, random), form++);
      check_same(ways, file, thumbnail_plan(size, 4 + random() % 9), form++);
      check_same(ways, file, thumbnail_plan(size, 10 + random() % 60), form++);
      check_same(ways, file, train_plan(size, static_cast<std::uint32_t>(random()), 0.08, 57),
                 form++);
      for (int i = 0; i < (sanitized ? 1 : 6); ++i)
        check_same(ways, file, random_plan(size, 90, random), form++);
    }
}

TEST_CASE("all ways and instruction sets give the same pixels of photographs") {
  const auto photos = photos_or_warning(sanitized ? 4 : 40);
  image_ways ways(no_limit);
  plane_decoder decoder;
  std::mt19937 random(1);
  for (std::size_t i = 0; i < photos.size(); ++i) {
    CAPTURE(i);
    const auto size = decoder.open(photos[i], no_limit).size;
    check_same(ways, photos[i], train_plan(size, static_cast<std::uint32_t>(i)), i);
    check_same(ways, photos[i], eval_plan(size), i + 3);
    check_same(ways, photos[i], tiny_plan(size, random), i + 5);
    check_same(ways, photos[i], thumbnail_plan(size, 4 + i % 13), i + 6);
    // Decoded to a half, a quarter, an eighth.
    for (const std::size_t ratio : {12, 24, 48})
      check_same(ways, photos[i], thumbnail_plan(size, ratio), i + ratio);
    check_same(ways, photos[i], train_plan(size, static_cast<std::uint32_t>(i), 0.7, 16), i + 2);
  }
}

TEST_CASE("pixels of photographs, at whatever size they are decoded, differ little from the "
          "reference") {
  const auto photos = photos_or_warning(sanitized ? 4 : 1000);
  image_ways ways(no_limit);
  plane_decoder decoder;
  std::map<std::size_t, differences> by_scale;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    const auto size = decoder.open(photos[i], no_limit).size;
    std::vector<resize_plan> plans{eval_plan(size)};
    for (const std::size_t target : {224, 64, 32})
      plans.push_back(train_plan(size, static_cast<std::uint32_t>(i), 0.08, target));
    for (const std::size_t ratio : {12, 24, 48})
      plans.push_back(thumbnail_plan(size, ratio));
    for (const auto& what : plans) {
      const auto scale = dct_scale_for(what);
      // Few photographs take long enough at their size; the mean of a few pixels is no measure.
      if ((scale == 8 && i >= 40) || std::min(what.window.width, what.window.height) < 8)
        continue;
      INFO(to_string(what));
      by_scale[scale].add(compare(ways, photos[i], what));
      CHECK(by_scale[scale].worst_mean < 0.5);
    }
  }
  CHECK((by_scale.size() == 4 || photos.empty()));
  CHECK(by_scale[8].highest < 48); // where colours leave 0 .. 255, as below
}

TEST_CASE("pixels of written files differ little from the reference") {
  image_ways ways(no_limit);
  for (const auto& kind : written_kinds())
    for (const bool gentle : {false, true}) {
      const auto all = compare_written(ways, kind, gentle);
      INFO(to_string(kind) << (gentle ? ", gentle: " : ", noise: ") << all.text());
      // Only rounding: of weights to 14 bits, of narrowed rows to 7, of sums to 6.
      const bool is_ycc = kind.components == 3 && !kind.rgb;
      // The reference rounds chroma after enlarging it, and colours before resizing them, to whole
      // numbers: at most 1.772 / 2 + 1 / 2, and half of that again if rows are enlarged first.
      // Noise leaves 0 .. 255 at almost every pixel: the reference clips it there, but ours clips
      // only the mean of a pixel's inputs, which is another colour.
      CHECK(all.highest < (!is_ycc ? 0.05 : gentle ? 2 : 64));
      CHECK(all.worst_mean < (!is_ycc ? 0.008 : gentle ? 0.5 : 1));
    }
}

} // namespace leat::image_paths_test
