#include "runtime/sample/sample_access.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/jpeg_writer.hpp"

#include <leat/image.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

namespace leat::image_test {

using namespace leat::test;

namespace {

using range = std::array<double, 2>;

context context_of(std::uint64_t sample_key) {
  return {rng(9, sample_key), 0, sample_key, 1, nullptr};
}

/// Runs one map on a sample of one field.
void apply(const map_stage& stage, sample& to, std::string_view field,
           std::span<const std::byte> content, std::uint64_t sample_key = 0) {
  sample_access::reset(to, nullptr);
  to.set(field, content);
  auto chance = context_of(sample_key);
  stage.make()(to, chance);
}

std::vector<std::byte> image_bytes(const map_stage& stage, std::span<const std::byte> file,
                                   std::uint64_t sample_key = 0) {
  sample s;
  apply(stage, s, "jpg", file, sample_key);
  const auto bytes = s.bytes("image");
  return {bytes.begin(), bytes.end()};
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> result(bytes.size() / sizeof(float));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

image_options small(dtype type, image_layout layout) {
  return {.size = 32, .type = type, .layout = layout};
}

bool refuses(const std::string& field, const image_options& options) {
  const auto x = problem_of([&] {
    eval_image(field, options);
    train_image(field, options);
  });
  return x && x->code() == errc::invalid_argument && !x->details().got.empty()
         && !x->details().needed.empty();
}

std::optional<cause> cause_of(const map_stage& stage, std::string_view field,
                              std::string_view content) {
  sample s;
  return leat::cause_of([&] {
    apply(stage, s, field, std::as_bytes(std::span{content.data(), content.size()}));
  });
}

} // namespace

TEST_CASE("layouts and types show the same pixels") {
  const auto file = write_jpeg(120, 90);
  const auto made = [&](dtype type, image_layout layout) {
    return image_bytes(train_image("jpg", small(type, layout)), file);
  };
  const auto plain = made(dtype::u8, image_layout::nhwc);
  const auto planes = made(dtype::u8, image_layout::nchw);
  const auto f_plain = floats(made(dtype::f32, image_layout::nhwc));
  const auto f_planes = floats(made(dtype::f32, image_layout::nchw));
  const image_options defaults;
  REQUIRE(plain.size() == 32 * 32 * 3);
  REQUIRE(f_planes.size() == plain.size());
  int differing = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const auto c = i % 3;
    const auto in_plane = c * 32 * 32 + i / 3;
    const auto v = static_cast<float>(std::to_integer<int>(plain[i]));
    const float expected = (v / 255.0F - defaults.mean[c]) / defaults.std[c];
    differing += planes[in_plane] == plain[i] ? 0 : 1;
    // Floats are not rounded to bytes first.
    const float half = 0.5001F / 255 / defaults.std[c];
    differing += std::abs(f_plain[i] - expected) <= half ? 0 : 1;
    differing += f_planes[in_plane] == f_plain[i] ? 0 : 1;
  }
  CHECK(differing == 0);
}

TEST_CASE("eval keeps an image of the right size as it is") {
  const auto file = write_jpeg(64, 64);
  const image_options options{
      .size = 64, .type = dtype::u8, .layout = image_layout::nhwc, .resize = 64, .exact = true};
  const auto got = image_bytes(eval_image("jpg", options), file);
  const auto pixels = read_jpeg(file);
  REQUIRE(got.size() == pixels.size());
  CHECK(std::memcmp(got.data(), pixels.data(), pixels.size()) == 0);
}

TEST_CASE("eval takes the middle") {
  // Black except for a white square in the middle, which fills a small crop.
  std::vector<std::uint8_t> pixels(96 * 160 * 3);
  for (std::size_t y = 56; y < 104; ++y)
    std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(3 * (y * 96 + 24)), 3 * 48,
                std::uint8_t{255});
  const auto file = write_jpeg(pixels, 96, 160, {.quality = 100});
  const image_options options{.size = 32, .type = dtype::u8, .resize = 96};
  for (auto x : image_bytes(eval_image("jpg", options), file))
    REQUIRE(std::to_integer<int>(x) >= 254);
}

TEST_CASE("the image takes the place of the JPEG, also under its own name") {
  const auto file = write_jpeg(60, 50);
  sample s;
  apply(train_image("png;jpg;jpeg", {.size = 16}), s, "jpg", file);
  CHECK(s.fields() == std::vector<std::string>{"image"});
  CHECK(s.view<float, 3>("image").extents() == std::array<std::size_t, 3>{3, 16, 16});
  apply(eval_image("image", {.size = 16, .layout = image_layout::nhwc}), s, "image", file);
  CHECK(s.fields() == std::vector<std::string>{"image"});
  CHECK(s.view<float, 3>("image").extents() == std::array<std::size_t, 3>{16, 16, 3});
}

TEST_CASE("bad content and missing fields are distinguished") {
  const auto stage = train_image("jpg", {.size = 16});
  CHECK(cause_of(stage, "jpg", "") == cause::empty);
  CHECK(cause_of(stage, "jpg", "GIF89a....") == cause::unsupported);
  CHECK(cause_of(stage, "jpg", "nothing known") == cause::corrupt);
  CHECK(cause_of(stage, "png", "x") == cause::missing_field);
  sample s;
  const auto file = write_jpeg(20, 20);
  CHECK_THROWS_AS(apply(train_image("jpg", {.size = 16, .max_pixels = 399}), s, "jpg", file),
                  bad_sample);
}

TEST_CASE("options out of range are refused at once") {
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(refuses("jpg;jpeg", {}));
  for (const auto* field : {"", "jpg;"})
    CHECK(refuses(field, {}));
  for (const std::size_t size : {0, 8193})
    CHECK(refuses("jpg", {.size = size}));
  CHECK(refuses("jpg", {.type = dtype::f64}));
  CHECK(refuses("jpg", {.std = {1, 0, 1}}));
  CHECK(refuses("jpg", {.mean = {1, static_cast<float>(nan), 1}}));
  for (const range& scale : {range{0, 1}, {0.5, 0.4}, {0.5, 1.1}})
    CHECK(refuses("jpg", {.scale = scale}));
  CHECK(refuses("jpg", {.ratio = {nan, 1}}));
  CHECK(refuses("jpg", {.flip = -0.1}));
  CHECK(refuses("jpg", {.resize = 223}));
  CHECK(refuses("jpg", {.max_pixels = 0}));
}

TEST_CASE("stages name themselves and everything that their results depend on") {
  const auto train = train_image("jpg;jpeg");
  CHECK(train.name == "train_image@1");
  CHECK(train.parameters
        == "field=jpg;jpeg size=224 type=f32 layout=nchw mean=0.485,0.456,0.406 "
           "std=0.229,0.224,0.225 max_pixels=134217728 scale=0.08,1 "
           "ratio=0.75,1.3333333333333333 flip=0.5");
  const auto eval = eval_image("jpg", {.size = 112, .type = dtype::u8});
  CHECK(eval.name == "eval_image@1");
  CHECK(eval.parameters
        == "field=jpg size=112 type=u8 layout=nchw mean=0.485,0.456,0.406 "
           "std=0.229,0.224,0.225 max_pixels=134217728 resize=128");
}

TEST_CASE("a label is a decimal integer, with blanks around it or not") {
  const auto stage = int_label("cls");
  CHECK(stage.name == "int_label@1");
  CHECK(stage.parameters == "field=cls");
  sample s;
  for (const auto& [text, value] :
       {std::pair<std::string_view, std::int64_t>{"7", 7}, {" 999\n", 999}, {"-3\r\n", -3}}) {
    apply(stage, s, "cls", std::as_bytes(std::span{text.data(), text.size()}));
    CHECK(s.get<std::int64_t>("label") == value);
    CHECK(s.fields() == std::vector<std::string>{"label"});
  }
  for (const char* text : {"", " ", "seven", "7 8", "0x10", "1.5", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(cause_of(stage, "cls", text) == cause::corrupt);
  }
  CHECK(cause_of(stage, "label", "1") == cause::missing_field);
  sample digits; // numbers, and no text
  digits.set("cls", std::vector<std::uint8_t>{'1', '2'}, {2});
  auto chance = context_of(0);
  CHECK(leat::cause_of([&] { stage.make()(digits, chance); }) == cause::wrong_shape);
}

TEST_CASE("a label that is not a number is quoted as a text, up to a whole character") {
  const auto stage = int_label("cls");
  const auto text_of = [&](const std::string& text) {
    sample s;
    return bad_sample_of([&] { apply(stage, s, "cls", std::as_bytes(std::span{text})); })
        .value()
        .second;
  };
  const std::string is_none = " is not a decimal integer of 64 bits";
  CHECK(text_of("Käse 象") == "\"Käse 象\"" + is_none);
  CHECK(text_of("K\xE4se") == "\"K\\xE4se\"" + is_none);
  CHECK(text_of("a\x01") == "a field of 2 bytes that are not a text" + is_none);
  CHECK(text_of(std::string(39, 'x') + "éé") == '"' + std::string(39, 'x') + '"' + is_none);
}

} // namespace leat::image_test
