// The public decoder, as a program uses it.
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/png_writer.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/image.hpp>
#include <leat/image_decoder.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace leat::image_decoder_test {

using namespace leat::test;

namespace {

using bytes = std::vector<std::byte>;
using range = std::array<double, 2>;
using namespace std::chrono_literals;

constexpr image_size size{301, 203};

bytes photo() {
  return write_jpeg(size.width, size.height, {.horizontal = 2, .vertical = 2});
}

bytes pixels_of(image_decoder& by, const resize_plan& what, const tensor_form& form = {}) {
  bytes to(3 * what.window.width * what.window.height * size_of(form.type));
  by.make(what, form, to);
  return to;
}

/// A part from the middle, so that rows above it and columns beside it are skipped.
resize_plan middle() {
  return {{101, 80, 120, 90}, {64, 48}, {0, 0, 64, 48}, true};
}

bytes image_of(const map_stage& stage, const bytes& file, const rng& random) {
  sample x;
  x.set("jpg", std::span<const std::byte>{file});
  context in{random, 0, 0, 1, nullptr};
  stage.make()(x, in);
  const auto made = x.bytes("image");
  return {made.begin(), made.end()};
}

tensor_form form_of(const image_options& x) {
  return {.type = x.type, .layout = x.layout, .mean = x.mean, .std = x.std};
}

std::optional<errc> made(image_decoder& by, const resize_plan& what, const tensor_form& form,
                         std::size_t room) {
  bytes to(room);
  return code_of([&] { by.make(what, form, to); });
}

constexpr auto refused = errc::invalid_argument;

} // namespace

TEST_CASE("image_decoder: what train_image_plan and eval_image_plan say becomes the maps' pixels") {
  const auto file = photo();
  for (const auto type : {dtype::f32, dtype::u8, dtype::bf16})
    for (const auto layout : {image_layout::nchw, image_layout::nhwc})
      for (std::uint64_t key = 0; key < 8; ++key) {
        const image_options options{.size = 40, .type = type, .layout = layout};
        image_decoder decoder;
        const auto found = decoder.open(file);
        REQUIRE(found == size);
        rng random{5, key};
        REQUIRE(pixels_of(decoder, train_image_plan(found, random, options), form_of(options))
                == image_of(train_image("jpg", options), file, rng{5, key}));
        REQUIRE(pixels_of(decoder, eval_image_plan(found, options), form_of(options))
                == image_of(eval_image("jpg", options), file, rng{5, key}));
      }
}

TEST_CASE("image_decoder: the exact way is that of the maps") {
  const auto file = photo();
  const image_options options{.size = 40, .exact = true};
  image_decoder decoder{{.exact = true}};
  REQUIRE(pixels_of(decoder, eval_image_plan(decoder.open(file), options), form_of(options))
          == image_of(eval_image("jpg", options), file, rng{0, 0}));
  REQUIRE_FALSE(decoder.used_own_decoder());
}

TEST_CASE(
    "image_decoder: parts of one image are made as often as wanted, each as if it were alone") {
  const auto file = photo();
  const auto png = write_png(size.width, size.height, {});
  const resize_plan whole{{0, 0, size.width, size.height}, {50, 40}, {3, 2, 30, 20}, false};
  for (const bool own : {true, false})
    for (const auto& x : {file, png}) {
      image_decoder fresh{{.own_decoder = own}};
      fresh.open(x);
      const auto first = pixels_of(fresh, middle());
      image_decoder used{{.own_decoder = own}};
      used.open(x);
      pixels_of(used, whole);
      REQUIRE(pixels_of(used, middle()) == first);
      used.open(x == png ? file : png);
      pixels_of(used, whole);
      used.open(x);
      REQUIRE(pixels_of(used, middle()) == first);
    }
}

TEST_CASE("image_decoder: all ways give the same pixels, and it says which one it went") {
  const auto file = photo();
  image_decoder usual;
  image_decoder libjpeg{{.own_decoder = false}};
  usual.open(file);
  REQUIRE_FALSE(usual.used_own_decoder());
  const auto pixels = pixels_of(usual, middle());
  REQUIRE(usual.used_own_decoder());
  libjpeg.open(file);
  REQUIRE(pixels_of(libjpeg, middle()) == pixels);
  REQUIRE_FALSE(libjpeg.used_own_decoder());
  for (const auto& other : {write_jpeg(size.width, size.height, {.progressive = true}),
                            write_jpeg(size.width, size.height, {.components = 4}),
                            write_png(size.width, size.height, {})}) {
    usual.open(other);
    REQUIRE_FALSE(usual.used_own_decoder());
    pixels_of(usual, middle());
    REQUIRE_FALSE(usual.used_own_decoder());
  }
}

TEST_CASE("image_decoder: knowing where the rows begin changes no pixel") {
  const auto file = photo();
  const auto rows = find_jpeg_rows(file);
  image_decoder decoder;
  decoder.open(file);
  REQUIRE_FALSE(decoder.knows_rows());
  const auto pixels = pixels_of(decoder, middle());
  decoder.open(file, rows);
  REQUIRE(decoder.knows_rows());
  REQUIRE(pixels_of(decoder, middle()) == pixels);
  REQUIRE(pixels_of(decoder, middle()) == pixels);
}

TEST_CASE("image_decoder: rows that are damaged or of another file are passed over") {
  const auto file = photo();
  auto rows = find_jpeg_rows(file);
  image_decoder decoder;
  decoder.open(write_jpeg(size.width, size.height, {.quality = 40}), rows);
  REQUIRE_FALSE(decoder.knows_rows());
  rows[rows.size() / 2] ^= std::byte{1};
  decoder.open(file, rows);
  REQUIRE_FALSE(decoder.knows_rows());
  decoder.open(file, std::span{rows}.first(5));
  REQUIRE_FALSE(decoder.knows_rows());
}

TEST_CASE("find_jpeg_rows: nothing for files that leat's own decoder does not take") {
  const auto file = photo();
  REQUIRE_FALSE(find_jpeg_rows(file).empty());
  REQUIRE(find_jpeg_rows({}).empty());
  REQUIRE(find_jpeg_rows(std::span{file}.first(file.size() / 2)).empty());
  REQUIRE(find_jpeg_rows(write_jpeg(64, 64, {.progressive = true})).empty());
  REQUIRE(find_jpeg_rows(write_png(64, 64, {})).empty());
}

TEST_CASE("image_decoder: a field of a sample is opened as its bytes are") {
  const auto file = photo();
  sample x;
  x.set("jpg", std::span<const std::byte>{file});
  image_decoder decoder;
  decoder.open(file);
  const auto pixels = pixels_of(decoder, middle());
  REQUIRE(decoder.open(x, "jpg") == size);
  REQUIRE(pixels_of(decoder, middle()) == pixels);
  REQUIRE_THROWS_AS(decoder.open(x, "png"), bad_sample);
}

TEST_CASE("image_decoder: bad files are bad samples, and leave nothing behind") {
  const auto file = photo();
  image_decoder decoder{{.max_pixels = size.width * size.height}};
  decoder.open(file);
  const auto pixels = pixels_of(decoder, middle());
  const auto why = [&](std::span<const std::byte> bad) {
    return cause_of([&] {
      decoder.open(bad);
      pixels_of(decoder, middle());
    });
  };
  REQUIRE(why({}) == cause::empty);
  REQUIRE(why(std::span{file}.first(100)) == cause::truncated);
  REQUIRE(why(std::as_bytes(std::span{"GIF89a"})) == cause::unsupported);
  REQUIRE(why(write_jpeg(size.width + 1, size.height)) == cause::too_large);
  REQUIRE(made(decoder, middle(), {}, pixels.size()) == refused);
  decoder.open(file);
  REQUIRE(pixels_of(decoder, middle()) == pixels);
}

TEST_CASE("image_decoder: plans, types and memory that do not fit are refused before anything is "
          "written") {
  const auto file = photo();
  image_decoder decoder;
  const auto good = middle();
  const auto room = 3 * good.window.width * good.window.height * sizeof(float);
  REQUIRE(made(decoder, good, {}, room) == refused); // nothing is open
  decoder.open(file);
  const auto with = [&](auto change) {
    auto plan = good;
    change(plan);
    return made(decoder, plan, {}, 3 * plan.window.width * plan.window.height * sizeof(float));
  };
  CHECK(with([](auto& x) { x.source.x = size.width; }) == refused);
  CHECK(with([](auto& x) { x.source.x = size.width - x.source.width + 1; }) == refused);
  CHECK(with([](auto& x) { x.source.y = SIZE_MAX; }) == refused);
  CHECK(with([](auto& x) { x.source.height = SIZE_MAX; }) == refused);
  CHECK(with([](auto& x) { x.source.width = 0; }) == refused);
  CHECK(with([](auto& x) { x.resized.width = 0; }) == refused);
  CHECK(with([](auto& x) { x.resized.height = std::size_t{1} << 40; }) == refused);
  CHECK(with([](auto& x) { x.window.width = 65; }) == refused);
  CHECK(with([](auto& x) { x.window.height = 0; }) == refused);
  CHECK(made(decoder, good, {}, room - 1) == refused);
  CHECK(made(decoder, good, {}, room + 1) == refused);
  CHECK(made(decoder, good, {.type = dtype::i32}, room) == refused);
  CHECK_FALSE(with([](auto&) {}));
}

TEST_CASE("image plans: options that the maps refuse, and images without pixels, are refused") {
  rng random{0, 0};
  const auto train = [&](const image_options& x) {
    return code_of([&] { train_image_plan(size, random, x); });
  };
  const auto eval = [](const image_options& x) {
    return code_of([&] { eval_image_plan(size, x); });
  };
  for (const auto& x : {image_options{.size = 0}, image_options{.size = 8193}}) {
    CHECK(train(x) == refused);
    CHECK(eval(x) == refused);
  }
  for (const range& scale : {range{0, 1}, {0.5, 0.4}, {0.5, 1.1}})
    CHECK(train({.scale = scale}) == refused);
  for (const range& ratio : {range{-1, 1}, {1, 1001}})
    CHECK(train({.ratio = ratio}) == refused);
  CHECK(train({.flip = 1.5}) == refused);
  CHECK(eval({.resize = 100}) == refused);
  CHECK(eval({.resize = 8193}) == refused);
  CHECK_FALSE(train({}));
  CHECK_FALSE(eval({}));
  CHECK(code_of([&] { train_image_plan({0, 5}, random); }) == refused);
  CHECK(code_of([&] { eval_image_plan({5, 0}); }) == refused);
}

TEST_CASE("decode_times: the parts that an image went through have time, the others none") {
  const auto file = photo();
  const auto rows = find_jpeg_rows(file);
  const auto progressive = write_jpeg(size.width, size.height, {.progressive = true});
  using enum decode_part;
  using parts = std::vector<decode_part>;
  const bytes no_rows;
  const auto check = [](const bytes& image, const bytes& places, bool is_exact, const parts& none) {
    image_decoder decoder{{.exact = is_exact}};
    decode_times times;
    decoder.time(&times);
    for (int i = 0; i < 3; ++i) {
      decoder.open(image, places);
      pixels_of(decoder, middle());
    }
    REQUIRE(times.images() == 3);
    REQUIRE(times.time_in(decoding) > 0ns);
    auto sum = 0ns;
    for (std::size_t i = 0; i < num_decode_parts; ++i)
      sum += times.time_in(static_cast<decode_part>(i));
    REQUIRE(times.total() == sum);
    for (const auto part : none) {
      CAPTURE(to_string(part), is_exact);
      REQUIRE(times.time_in(part) == 0ns);
    }
  };
  check(file, no_rows, false, {});
  check(file, rows, false, {unstuffing});
  check(progressive, no_rows, false, {huffman_tables, unstuffing, transforming});
  check(file, no_rows, true, {huffman_tables, unstuffing, skimming, transforming});
}

TEST_CASE("decode_times: watching changes no pixel, and ends when it is told to") {
  const auto file = photo();
  image_decoder decoder;
  decoder.open(file);
  const auto pixels = pixels_of(decoder, middle());
  decode_times times;
  REQUIRE(times.total() == 0ns);
  decoder.time(&times);
  REQUIRE(pixels_of(decoder, middle()) == pixels);
  REQUIRE(times.images() == 1);
  const auto total = times.total();
  REQUIRE(total > 0ns);
  decoder.time(nullptr);
  REQUIRE(pixels_of(decoder, middle()) == pixels);
  REQUIRE(times.images() == 1);
  REQUIRE(times.total() == total);
}

TEST_CASE("decode_times: what a program does between images is nobody's part") {
  decode_times times;
  times.begin();
  times.lap(decode_part::decoding);
  const auto before = times.total();
  times.begin(); // after other work
  REQUIRE(times.total() == before);
}

} // namespace leat::image_decoder_test
