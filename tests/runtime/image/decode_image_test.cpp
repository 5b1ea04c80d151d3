#include "runtime/image/pixels/color_jitter.hpp"
#include "runtime/image/pixels/crop.hpp"
#include "runtime/image/pixels/element.hpp"
#include "runtime/image/pixels/image_chain.hpp"
#include "runtime/image/pixels/pad_image.hpp"
#include "runtime/image/pixels/random_erasing.hpp"
#include "runtime/sample/sample_access.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/png_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/image.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace leat::decode_image_test {

using namespace leat::test;

namespace {

constexpr std::uint64_t stream = 9;

/// The tensor that decode_image makes, and its shape.
struct made {
  shape dims;
  dtype type = dtype::u8;
  std::vector<std::byte> bytes;

  template <class T>
  T at(std::size_t i) const {
    T x;
    std::memcpy(&x, bytes.data() + i * sizeof x, sizeof x);
    return x;
  }
};

made make_image(std::span<const std::byte> file, const std::vector<image_transform>& transforms,
                std::uint64_t sample_key = 0, const decode_options& options = {}) {
  sample s;
  sample_access::reset(s, nullptr);
  s.set("jpg", file);
  context in{rng(stream, sample_key), 0, sample_key, 1, nullptr};
  decode_image("jpg", transforms, options).make()(s, in);
  CHECK_FALSE(s.has("jpg"));
  const auto bytes = s.bytes("image");
  return {s.shape_of("image"), s.type_of("image"), {bytes.begin(), bytes.end()}};
}

/// An image in the simplest form: values 0 to 1.
struct plain_image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<double> values;

  plain_image(std::size_t w, std::size_t h) : width(w), height(h), values(3 * w * h) {}
  double& at(std::size_t x, std::size_t y, std::size_t c) {
    return values[(c * height + y) * width + x];
  }
  double at(std::size_t x, std::size_t y, std::size_t c) const {
    return values[(c * height + y) * width + x];
  }
  image_size size() const { return {width, height}; }
};

template <class Value>
plain_image filled(const image_size& size, Value value) {
  plain_image result(size.width, size.height);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < size.height; ++y)
      for (std::size_t x = 0; x < size.width; ++x)
        result.at(x, y, c) = value(x, y, c);
  return result;
}

plain_image decoded(std::span<const std::byte> file, std::size_t width, std::size_t height) {
  const auto pixels = read_jpeg(file);
  return filled({width, height}, [&](std::size_t x, std::size_t y, std::size_t c) {
    return pixels[(y * width + x) * 3 + c] / 255.0;
  });
}

plain_image cropped(const plain_image& from, const pixel_rect& part) {
  return filled({part.width, part.height}, [&](std::size_t x, std::size_t y, std::size_t c) {
    return from.at(part.x + x, part.y + y, c);
  });
}

/// A triangle as wide as an output pixel, at least two inputs, cut at the image's ends.
double tent(double centre, double support, std::size_t inputs, std::size_t i) {
  const double distance = std::abs(static_cast<double>(i) + 0.5 - centre) / support;
  return i < inputs ? std::max(0.0, 1 - distance) : 0;
}

template <class Value>
double weighted(std::size_t inputs, std::size_t outputs, std::size_t output, Value value) {
  const double scale = static_cast<double>(inputs) / static_cast<double>(outputs);
  const double centre = (static_cast<double>(output) + 0.5) * scale;
  double sum = 0;
  double weights = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    const double weight = tent(centre, std::max(1.0, scale), inputs, i);
    sum += weight * (weight > 0 ? value(i) : 0);
    weights += weight;
  }
  return sum / weights;
}

plain_image resized(const plain_image& from, const image_size& to) {
  const auto narrow =
      filled({to.width, from.height}, [&](std::size_t x, std::size_t y, std::size_t c) {
        return weighted(from.width, to.width, x, [&](std::size_t i) { return from.at(i, y, c); });
      });
  return filled(to, [&](std::size_t x, std::size_t y, std::size_t c) {
    return weighted(from.height, to.height, y, [&](std::size_t i) { return narrow.at(x, i, c); });
  });
}

plain_image mirrored(const plain_image& from) {
  return filled(from.size(), [&](std::size_t x, std::size_t y, std::size_t c) {
    return from.at(from.width - 1 - x, y, c);
  });
}

template <class Change>
plain_image through_floats(const plain_image& from, const image_size& to, Change change) {
  std::vector<float> in(from.values.begin(), from.values.end());
  std::vector<float> out(3 * to.width * to.height);
  change(float_image{in.data(), from.width, from.height},
         float_image{out.data(), to.width, to.height});
  plain_image result(to.width, to.height);
  std::copy(out.begin(), out.end(), result.values.begin());
  return result;
}

/// One transform by itself, on all pixels.
struct plain_step {
  plain_image image;
  rng& random;

  void operator()(const random_resized_crop_step& x) {
    image = resized(cropped(image, random_crop(image.size(), x.ranges, random)), x.size);
  }
  void operator()(const resize_step& x) {
    const auto to = x.shorter == 0 ? x.size : resized_to_shorter(image.size(), x.shorter);
    image = resized(image, to);
  }
  void operator()(const center_crop_step& x) {
    (*this)(padding_to(image.size(), x.size));
    image = cropped(image, central_part(image.size(), x.size));
  }
  void operator()(const flip_step& x) {
    if (random.coin(x.probability))
      image = mirrored(image);
  }
  void operator()(const padding& x) {
    image = through_floats(
        image, padded_size(image.size(), x),
        [&](const float_image& in, const float_image& out) { pad_image(in, x, out); });
  }
  void operator()(const color_jitter_ranges& x) {
    const auto factors = draw_color_jitter(x, random);
    image = through_floats(image, image.size(), [&](const float_image& in, const float_image& out) {
      adjust_color(in, factors);
      std::copy_n(in.data, 3 * in.pixels(), out.data);
    });
  }
};

std::vector<image_transform> random_chain(std::mt19937& random) {
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<image_transform> chain;
  for (std::size_t i = 0; i < 1 + below(5); ++i) {
    pad_options around{below(4), below(4), below(4), below(4), static_cast<padding_mode>(below(2))};
    around.fill = {255, 0, 51};
    const std::vector all({random_resized_crop({8 + below(40), 8 + below(40)}),
                           resize(10 + below(40)), resize(8 + below(50), 8 + below(50)),
                           center_crop({4 + below(60), 4 + below(60)}), random_horizontal_flip(0.5),
                           leat::pad(around), color_jitter(0.4, 0.4, 0.4, 0.1)});
    chain.push_back(all[below(all.size())]);
  }
  return chain;
}

bool refuses(const std::vector<image_transform>& transforms) {
  const auto x = problem_of([&] { decode_image("jpg", transforms); });
  return x && x->code() == errc::invalid_argument && !x->details().got.empty()
         && !x->details().needed.empty();
}

std::optional<cause> cause_of(std::span<const std::byte> file,
                              const std::vector<image_transform>& transforms,
                              const decode_options& options = {}) {
  return leat::cause_of([&] { make_image(file, transforms, 0, options); });
}

} // namespace

TEST_CASE("chains of transforms do what each does by itself, in their order") {
  seeded_random random;
  for (std::uint64_t i = 0; i < 150; ++i) {
    const auto width = 12 + random() % 90;
    const auto height = 12 + random() % 90;
    const auto file =
        write_jpeg(width, height, {.horizontal = 2, .vertical = 2}, static_cast<std::uint32_t>(i));
    auto chain = random_chain(random);
    CAPTURE(i, width, height, to_text(chain));
    rng draws(stream, i);
    plain_step plain{decoded(file, width, height), draws};
    for (const auto& step : read_transforms(chain, "test").steps)
      std::visit(plain, step);
    chain.push_back(to_dtype(dtype::f32));
    const auto got = make_image(file, chain, i, {.exact = true});
    REQUIRE(got.dims == shape{3, plain.image.height, plain.image.width});
    double worst = 0;
    for (std::size_t k = 0; k < plain.image.values.size(); ++k)
      worst =
          std::max(worst, std::abs(static_cast<double>(got.at<float>(k)) - plain.image.values[k]));
    // Jitter turns a difference in the last bit of gray into more than one bit.
    CHECK(worst < 1e-4);
  }
}

TEST_CASE("the usual way is near the exact one, whatever is behind it") {
  const auto file = write_jpeg(300, 200, {.horizontal = 2, .vertical = 2, .quality = 95});
  for (const auto& chain : {std::vector{random_resized_crop(64), to_dtype(dtype::f32)},
                            std::vector{resize(80), center_crop(64), color_jitter(0.4, 0.4, 0.4),
                                        to_dtype(dtype::f32)}}) {
    const auto exact = make_image(file, chain, 3, {.exact = true});
    const auto usual = make_image(file, chain, 3);
    double error = 0;
    for (std::size_t k = 0; k < 3 * 64 * 64; ++k)
      error += std::abs(exact.at<float>(k) - usual.at<float>(k));
    CHECK(error / (3 * 64 * 64) < 0.7 / 255); // noise, which has colours outside of RGB
  }
}

TEST_CASE("types and layouts hold the same values, rounded as their type is") {
  const auto file = write_jpeg(90, 70);
  auto chain_of = [](dtype type, image_layout layout) {
    return std::vector{random_resized_crop({20, 24}), normalize(), to_dtype(type),
                       to_layout(layout)};
  };
  const auto floats = make_image(file, chain_of(dtype::f32, image_layout::nchw), 5);
  const auto turns = make_image(file, chain_of(dtype::f32, image_layout::nhwc), 5);
  const auto halves = make_image(file, chain_of(dtype::f16, image_layout::nchw), 5);
  const auto brains = make_image(file, chain_of(dtype::bf16, image_layout::nchw), 5);
  CHECK(floats.dims == shape{3, 20, 24});
  CHECK(turns.dims == shape{20, 24, 3});
  CHECK(brains.type == dtype::bf16);
  int differing = 0;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < 20 * 24; ++i) {
      const auto value = floats.at<float>(c * 480 + i);
      differing += turns.at<float>(3 * i + c) == value ? 0 : 1;
      differing += halves.at<std::uint16_t>(c * 480 + i) == to_f16(value) ? 0 : 1;
      differing += brains.at<std::uint16_t>(c * 480 + i) == to_bf16(value) ? 0 : 1;
    }
  CHECK(differing == 0);
}

TEST_CASE("floats of 16 bits are rounded to nearest, halves to even") {
  constexpr auto infinite = std::numeric_limits<float>::infinity();
  using row = std::pair<float, int>;
  for (const auto& [x, bits] : {row{1.0F, 0x3C00}, row{-2.0F, 0xC000}, row{0.0F, 0},
                                row{-0.0F, 0x8000}, row{65504.0F, 0x7BFF}, row{65520.0F, 0x7C00},
                                row{1.0F + 0x1p-11F, 0x3C00}, row{1.0F + 3 * 0x1p-11F, 0x3C02},
                                row{0x1p-24F, 1}, row{0x1p-25F, 0}, row{infinite, 0x7C00}}) {
    CAPTURE(x);
    CHECK(to_f16(x) == bits);
  }
  CHECK(to_bf16(1.0F) == 0x3F80);
  CHECK(to_bf16(1.0F + 0x1p-8F) == 0x3F80);
  CHECK(to_bf16(1.0F + 3 * 0x1p-8F) == 0x3F82);
}

TEST_CASE("floats of 16 bits become the same floats of 32 bits") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const f16 half{static_cast<std::uint16_t>(bits)};
    const bf16 brain{static_cast<std::uint16_t>(bits)};
    const auto from_half = static_cast<float>(half);
    const auto from_brain = static_cast<float>(brain);
    REQUIRE((std::isnan(from_half) || to_f16(from_half) == bits));
    REQUIRE((std::isnan(from_brain) || to_bf16(from_brain) == bits));
    REQUIRE(std::isnan(from_half) == ((bits & 0x7FFF) > 0x7C00));
  }
  CHECK(static_cast<float>(f16{0x3C00}) == 1.0F);
  CHECK(static_cast<float>(f16{0xC001}) == -2.0F - 0x1p-9F);
  CHECK(static_cast<float>(bf16{0x3F81}) == 1.0F + 0x1p-7F);
}

TEST_CASE("random erasing writes its values into one rectangle, in every layout") {
  const auto file = write_jpeg(64, 48);
  int erased = 0;
  for (std::uint64_t sample_key = 0; sample_key < 40; ++sample_key) {
    const std::vector plain{resize(40, 60), normalize()};
    auto chain = plain;
    chain.push_back(random_erasing({.p = 0.5, .value = {7, 8, 9}}));
    const auto before = make_image(file, plain, sample_key);
    const auto after = make_image(file, chain, sample_key);
    rng draws(stream, sample_key);
    const auto part = draw_erased({60, 40}, {0.5, {0.02, 0.33}, {0.3, 3.3}}, draws);
    erased += part ? 1 : 0;
    int wrong = 0;
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t y = 0; y < 40; ++y)
        for (std::size_t x = 0; x < 60; ++x) {
          const bool inside = part && x >= part->x && x < part->x + part->width && y >= part->y
                              && y < part->y + part->height;
          const auto at = (c * 40 + y) * 60 + x;
          const auto want = inside ? static_cast<float>(7 + c) : before.at<float>(at);
          wrong += after.at<float>(at) == want ? 0 : 1;
        }
    CHECK(wrong == 0);
  }
  CHECK(erased > 5);
  CHECK(erased < 35);
}

TEST_CASE("noise of random erasing is drawn again for each sample") {
  const auto file = write_jpeg(64, 64);
  const std::vector chain{resize(32, 32), to_dtype(dtype::f32),
                          random_erasing({.p = 1, .scale = {0.3, 0.33}, .noise = true})};
  CHECK(make_image(file, chain, 1).bytes == make_image(file, chain, 1).bytes);
  CHECK(make_image(file, chain, 1).bytes != make_image(file, chain, 2).bytes);
}

TEST_CASE("a PNG's pixels are as exact as they are") {
  const auto pixels = test_pixels(50, 40, 3);
  const auto file = write_png(std::vector<unsigned>(pixels.begin(), pixels.end()), 50, 40);
  const auto got = make_image(file, {to_layout(image_layout::nhwc)});
  REQUIRE(got.bytes.size() == pixels.size());
  CHECK(std::memcmp(got.bytes.data(), pixels.data(), pixels.size()) == 0);
  const auto exact = make_image(file, {resize(30), to_dtype(dtype::f32)}, 0, {.exact = true});
  const auto usual = make_image(file, {resize(30), to_dtype(dtype::f32)});
  float worst = 0;
  for (std::size_t i = 0; i < 3 * 30 * 37; ++i)
    worst = std::max(worst, std::abs(exact.at<float>(i) - usual.at<float>(i)));
  CHECK(worst < 0.2F / 255.0F);
}

TEST_CASE("transforms as text, and back") {
  const std::vector chain({random_resized_crop({224, 200}, {0.1, 1}, {0.5, 2}), resize(256),
                           resize(10, 20), center_crop(224), random_horizontal_flip(),
                           leat::pad({.left = 1, .mode = padding_mode::reflect}), color_jitter(0.4),
                           color_jitter({.hue = {{-0.1, 0.2}}}), normalize(), random_erasing(),
                           to_dtype(dtype::f16), to_layout(image_layout::nhwc)});
  CHECK(parse_transforms(to_text(chain)) == chain);
  CHECK(to_text({resize(256), center_crop(224)}) == "resize:256,center_crop:224:224");
  CHECK(parse_transforms("").empty());
}

TEST_CASE("transforms that make no sense are refused at once") {
  CHECK_FALSE(refuses({}));
  CHECK_FALSE(refuses({random_resized_crop(224), normalize(), random_erasing()}));
  for (const image_transform& x :
       {image_transform{"blur", {}}, resize(0), resize(8193), image_transform{"resize", {}},
        image_transform{"resize", {"1", "2", "3"}}, image_transform{"resize", {"x"}},
        random_resized_crop(224, {0, 1}), random_resized_crop(224, {0.5, 0.4}),
        random_resized_crop(224, {0.5, 1}, {0, 1}), random_horizontal_flip(1.1),
        random_horizontal_flip(std::numeric_limits<double>::quiet_NaN()),
        color_jitter(0, 0, 0, 0.6), leat::pad({.fill = {256, 0, 0}}),
        normalize({0, 0, 0}, {1, 0, 1}), random_erasing({.noise = true}), to_dtype(dtype::f64),
        image_transform{"to_layout", {"hwc"}},
        image_transform{"pad", {"1", "1", "1", "1", "wrap", "0", "0", "0"}}}) {
    CAPTURE(to_text({x}));
    CHECK(refuses({x}));
  }
  CHECK(refuses({normalize(), resize(10)}));
  CHECK(refuses({normalize(), normalize()}));
  CHECK(refuses({random_erasing(), resize(10)}));
  CHECK(refuses({random_erasing(), random_erasing()}));
  CHECK(refuses({normalize(), to_dtype(dtype::u8)}));
}

TEST_CASE("images that a chain cannot work on are bad samples") {
  const auto small = write_jpeg(5, 5);
  CHECK(cause_of(small, {leat::pad({.left = 5, .mode = padding_mode::reflect})})
        == cause::wrong_shape);
  CHECK(cause_of(small, {leat::pad({.left = 4, .mode = padding_mode::reflect})}) == std::nullopt);
  CHECK(cause_of(small, {resize(8192)}, {.max_pixels = 1000}) == cause::too_large);
  CHECK(cause_of(small, {resize(8192), center_crop(4)}, {.max_pixels = 1000}) == std::nullopt);
  CHECK(cause_of(small, {resize(8192), color_jitter(1)}, {.max_pixels = 1000}) == cause::too_large);
}

} // namespace leat::decode_image_test
