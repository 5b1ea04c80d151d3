#include "runtime/image/pixels/color_jitter.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace leat::color_jitter_test {
namespace {

/// Owned pixels.
struct picture {
  std::size_t width;
  std::size_t height;
  std::vector<float> values;

  float_image view() { return {values.data(), width, height}; }
};

/// 4 x 2 pixels, the last one gray. The same in Python:
///   img = torch.tensor([[[((5 * c + 7 * i + 3) * (i + c + 2)) % 16 / 16 for i in range(8)]]
///                       for c in range(3)]).reshape(3, 2, 4)
///   img[:, 1, 3] = .25
picture small_picture() {
  picture result{4, 2, {}};
  for (unsigned c = 0; c < 3; ++c)
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned value = i == 7 ? 4 : (5 * c + 7 * i + 3) * (i + c + 2) % 16;
      result.values.push_back(static_cast<float>(value) / 16);
    }
  return result;
}

/// Each value uniform in 0 .. 1, a multiple of 2^-24.
picture random_picture(std::size_t width, std::size_t height, std::uint64_t seed) {
  rng random(seed, 0);
  picture result{width, height, std::vector<float>(3 * width * height)};
  for (auto& x : result.values)
    x = static_cast<float>(random() >> 8) * 0x1p-24F;
  return result;
}

double worst_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return worst;
}

/// A few roundings in single precision.
constexpr double rounding = 5e-7;

template <class Adjust>
std::vector<float> adjusted(picture from, Adjust adjust) {
  adjust(from.view());
  return from.values;
}

using rgb = std::array<double, 3>;

/// Source: rgb_to_hsv and hsv_to_rgb of Python's colorsys.
rgb turned(const rgb& in, double turn) {
  const auto [low, high] = std::minmax_element(in.begin(), in.end());
  const double range = *high - *low;
  if (range == 0)
    return in;
  const double saturation = range / *high;
  const double red = (*high - in[0]) / range;
  const double green = (*high - in[1]) / range;
  const double blue = (*high - in[2]) / range;
  double hue = 4 + green - red;
  if (in[0] == *high)
    hue = blue - green;
  else if (in[1] == *high)
    hue = 2 + red - blue;
  hue = hue / 6 + turn;
  hue -= std::floor(hue);
  const int sector = static_cast<int>(hue * 6);
  const double rest = hue * 6 - sector;
  const double v = *high;
  const double p = v * (1 - saturation);
  const double q = v * (1 - saturation * rest);
  const double t = v * (1 - saturation * (1 - rest));
  const rgb results[] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  return results[sector % 6];
}

} // namespace

// torchvision 0.28 with torch 2.13: F is torchvision.transforms.v2.functional.
TEST_CASE("brightness, contrast, saturation and hue are torchvision's") {
  // F.adjust_brightness(img, 1.4)
  const std::vector<float> brighter{
      0.524999976F, 1.0F,         0.349999994F, 0.699999988F, 0.875F,       0.875F,
      0.699999988F, 0.349999994F, 0.699999988F, 1.0F,         1.0F,         1.0F,
      1.0F,         0.699999988F, 0.174999997F, 0.349999994F, 0.349999994F, 0.349999994F,
      0.174999997F, 1.0F,         0.699999988F, 0.0F,         0.524999976F, 0.349999994F};
  CHECK(adjusted(small_picture(), [](auto image) { adjust_brightness(image, 1.4); }) == brighter);
  // F.adjust_contrast(img, 1.7)
  auto got = adjusted(small_picture(), [](auto image) { adjust_contrast(image, 1.7); });
  CHECK(worst_difference(got,
                         {0.269149125F,  1.0F,          0.0566490889F, 0.481649101F, 0.694149077F,
                          0.694149077F,  0.481649101F,  0.0566490889F, 0.481649101F, 0.906649172F,
                          1.0F,          1.0F,          0.906649172F,  0.481649101F, 0.0F,
                          0.0566490889F, 0.0566490889F, 0.0566490889F, 0.0F,         1.0F,
                          0.481649101F,  0.0F,          0.269149125F,  0.0566490889F})
        < rounding);
  // F.adjust_saturation(img, 1.8)
  got = adjusted(small_picture(), [](auto image) { adjust_saturation(image, 1.8); });
  CHECK(
      worst_difference(got, {0.32772997F,  0.990769923F, 0.0F,         0.289739966F, 0.577750027F,
                             0.740749955F, 0.687539995F, 0.250019968F, 0.552729964F, 0.765769899F,
                             1.0F,         0.964739919F, 0.802749932F, 0.515749931F, 0.0125399977F,
                             0.250019968F, 0.102729999F, 0.0F,         0.0F,         0.964739919F,
                             0.352749974F, 0.0F,         0.462539941F, 0.250019968F})
      < rounding);
  // F.adjust_hue(img, -0.35)
  got = adjusted(small_picture(), [](auto image) { adjust_hue(image, -0.35); });
  CHECK(worst_difference(got, {0.5F,         0.687499881F, 0.875F,      0.875F,       0.75F,
                               0.437499881F, 0.125F,       0.25F,       0.25F,        0.249999985F,
                               0.124999993F, 0.837499976F, 0.49999997F, 0.0F,         0.412499905F,
                               0.25F,        0.400000095F, 0.875F,      0.324999809F, 0.49999997F,
                               0.650000095F, 0.625F,       0.5F,        0.25F})
        < rounding);
}

TEST_CASE("four adjustments in an order of their own are torchvision's") {
  // F.adjust_brightness(F.adjust_contrast(F.adjust_hue(F.adjust_saturation(img, 1.3), .1),
  // .7), 1.2)
  const std::vector<float> expected{
      0.341891408F, 0.67674911F,  0.178281456F, 0.532049537F, 0.551897705F, 0.539366066F,
      0.657356501F, 0.388287753F, 0.61489135F,  0.949748933F, 0.981926203F, 0.695849538F,
      0.824897707F, 0.739742696F, 0.247856557F, 0.388287753F, 0.369191378F, 0.267248958F,
      0.539323449F, 0.94154948F,  0.579197586F, 0.178281456F, 0.275156528F, 0.388287753F};
  color_jitter_factors factors{1.2, 0.7, 1.3, 0.1};
  factors.order = {color_adjustment::saturation, color_adjustment::hue, color_adjustment::contrast,
                   color_adjustment::brightness};
  const auto apply = [&](auto image) { adjust_color(image, factors); };
  CHECK(worst_difference(adjusted(small_picture(), apply), expected) < rounding);
  std::reverse(factors.order.begin(), factors.order.end());
  CHECK(worst_difference(adjusted(small_picture(), apply), expected) > 0.01);
}

TEST_CASE("hue turns as in Python's colorsys, by any factor") {
  rng random(1, 0);
  for (int i = 0; i < 200; ++i) {
    const auto before = random_picture(13, 7, random());
    const double factor = random.uniform(-0.5, 0.5);
    const auto after = adjusted(before, [&](auto image) { adjust_hue(image, factor); });
    double worst = 0;
    for (std::size_t at = 0; at < 13 * 7; ++at) {
      rgb in{};
      for (std::size_t c = 0; c < 3; ++c)
        in[c] = static_cast<double>(before.values[c * 13 * 7 + at]);
      const auto expected = turned(in, factor);
      for (std::size_t c = 0; c < 3; ++c)
        worst =
            std::max(worst, std::abs(static_cast<double>(after[c * 13 * 7 + at]) - expected[c]));
    }
    CAPTURE(factor);
    CHECK(worst < 1e-6);
  }
}

TEST_CASE("contrast goes by the mean gray, whatever the number of pixels") {
  for (std::size_t pixels = 1; pixels < 40; ++pixels) {
    const auto before = random_picture(pixels, 1, pixels);
    double mean = 0;
    for (std::size_t i = 0; i < pixels; ++i)
      mean += 0.2989 * static_cast<double>(before.values[i])
              + 0.587 * static_cast<double>(before.values[pixels + i])
              + 0.114 * static_cast<double>(before.values[2 * pixels + i]);
    mean /= static_cast<double>(pixels);
    CAPTURE(pixels);
    const auto after = adjusted(before, [](auto image) { adjust_contrast(image, 0); });
    CHECK(worst_difference(after, std::vector<float>(3 * pixels, static_cast<float>(mean)))
          < rounding);
  }
}

TEST_CASE("factors that change nothing change nothing") {
  const auto before = random_picture(31, 17, 3);
  CHECK(adjusted(before, [](auto image) { adjust_brightness(image, 1); }) == before.values);
  CHECK(adjusted(before, [](auto image) { adjust_contrast(image, 1); }) == before.values);
  CHECK(adjusted(before, [](auto image) { adjust_saturation(image, 1); }) == before.values);
  const auto same_hue = adjusted(before, [](auto image) { adjust_hue(image, 0); });
  CHECK(worst_difference(same_hue, before.values) < rounding);
  CHECK(adjusted(before, [](auto image) { adjust_color(image, {}); }) == before.values);
}

TEST_CASE("factors at their ends are black, gray and the opposite hue") {
  const auto before = random_picture(31, 17, 4);
  CHECK(adjusted(before, [](auto image) { adjust_brightness(image, 0); })
        == std::vector<float>(before.values.size(), 0.0F));
  const auto gray = adjusted(before, [](auto image) { adjust_saturation(image, 0); });
  const auto plane = static_cast<std::ptrdiff_t>(gray.size() / 3);
  CHECK(std::equal(gray.begin(), gray.begin() + plane, gray.begin() + plane));
  CHECK(std::equal(gray.begin(), gray.begin() + plane, gray.begin() + 2 * plane));
  const auto forwards = adjusted(before, [](auto image) { adjust_hue(image, 0.5); });
  const auto backwards = adjusted(before, [](auto image) { adjust_hue(image, -0.5); });
  CHECK(worst_difference(forwards, backwards) < 1e-6);
  CHECK(worst_difference(forwards, before.values) > 0.5);
}

TEST_CASE("gray pixels keep their values under any hue, black and white ones too") {
  picture before{3, 1, {0, 0.3F, 1, 0, 0.3F, 1, 0, 0.3F, 1}};
  for (const double factor : {-0.5, -0.1, 0.0, 0.3, 0.5})
    CHECK(adjusted(before, [&](auto image) { adjust_hue(image, factor); }) == before.values);
}

TEST_CASE("whatever the factors, values stay within 0 and 1") {
  rng random(5, 0);
  for (int i = 0; i < 200; ++i) {
    const color_jitter_factors factors{random.uniform(0, 4), random.uniform(0, 4),
                                       random.uniform(0, 4), random.uniform(-0.5, 0.5)};
    const auto after = adjusted(random_picture(19, 3, random()),
                                [&](auto image) { adjust_color(image, factors); });
    CHECK(std::all_of(after.begin(), after.end(), [](float x) { return x >= 0 && x <= 1; }));
  }
}

TEST_CASE("pixels are the same to the last bit on every machine") {
  const auto after = adjusted(random_picture(67, 41, 6), [](auto image) {
    adjust_color(image, {1.1, 0.8, 1.3, 0.07});
  });
  std::uint64_t hash = 0;
  for (const float x : after)
    hash = (hash ^ std::bit_cast<std::uint32_t>(x)) * 0x9E3779B97F4A7C15U;
  CHECK(hash == 0x93EDC71DC942B504U);
}

TEST_CASE("arguments become ranges as in torchvision") {
  CHECK(jitter_range(0.4) == factor_range{0.6, 1.4});
  CHECK(jitter_range(0) == factor_range{1, 1});
  CHECK(jitter_range(2.5) == factor_range{0, 3.5});
  CHECK(jitter_range(factor_range{0.5, 3}) == factor_range{0.5, 3});
  CHECK(jitter_range(factor_range{1000, 1000}).has_value());
  CHECK(hue_range(0.5) == factor_range{-0.5, 0.5});
  CHECK(hue_range(factor_range{-0.1, 0.2}) == factor_range{-0.1, 0.2});
}

TEST_CASE("arguments that make no range are refused") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const double v : {-0.1, 999.5, nan, infinite})
    CHECK_FALSE(jitter_range(v).has_value());
  for (const factor_range& range :
       {factor_range{-0.1, 1}, {1, 0.9}, {1, 1001}, {nan, 1}, {1, nan}, {0, infinite}})
    CHECK_FALSE(jitter_range(range).has_value());
  for (const double v : {-0.1, 0.6, nan})
    CHECK_FALSE(hue_range(v).has_value());
  for (const factor_range& range :
       {factor_range{-0.6, 0}, {0, 0.6}, {0.2, 0.1}, {nan, 0}, {0, nan}})
    CHECK_FALSE(hue_range(range).has_value());
}

TEST_CASE("factors are uniform in their ranges, and all orders are alike") {
  const color_jitter_ranges ranges{{{0.6, 1.4}}, {{0, 2}}, {{0.5, 0.7}}, {{-0.1, 0.3}}};
  constexpr int tries = 24000;
  std::array<double, 4> sums{};
  std::map<std::array<color_adjustment, 4>, int> orders;
  for (std::uint64_t sample_key = 0; sample_key < tries; ++sample_key) {
    rng random(9, sample_key);
    const auto x = draw_color_jitter(ranges, random);
    const std::array<double, 4> shares{(x.brightness.value() - 0.6) / 0.8, x.contrast.value() / 2,
                                       (x.saturation.value() - 0.5) / 0.2,
                                       (x.hue.value() + 0.1) / 0.4};
    for (std::size_t i = 0; i < 4; ++i) {
      REQUIRE(shares[i] >= -1e-12);
      REQUIRE(shares[i] <= 1 + 1e-12);
      sums[i] += shares[i];
    }
    ++orders[x.order];
  }
  // Five standard errors.
  for (const double sum : sums)
    CHECK(std::abs(sum / tries - 0.5) < 5 / std::sqrt(12.0 * tries));
  CHECK(orders.size() == 24);
  for (const auto& [order, count] : orders)
    CHECK(std::abs(count - tries / 24) < 5 * std::sqrt(tries / 24.0));
}

TEST_CASE("what is not applied is not drawn") {
  rng random(10, 1);
  const auto x = draw_color_jitter({{{1, 1}}, {}, {{0.5, 0.5}}, {{0, 0}}}, random);
  CHECK_FALSE(x.brightness.has_value());
  CHECK_FALSE(x.contrast.has_value());
  CHECK(x.saturation == 0.5);
  CHECK_FALSE(x.hue.has_value());
  rng other(10, 1);
  for (int i = 0; i < 3 + 1; ++i)
    other.bits64();
  CHECK(random.bits64() == other.bits64());
}

TEST_CASE("numbers are drawn in the order that the header gives") {
  rng random(11, 2);
  const auto x = draw_color_jitter({{{0, 1}}, {{0, 1}}, {{0, 1}}, {{0, 0.5}}}, random);
  rng other(11, 2);
  std::array order{color_adjustment::brightness, color_adjustment::contrast,
                   color_adjustment::saturation, color_adjustment::hue};
  std::swap(order[3], order[other.below(4)]);
  std::swap(order[2], order[other.below(3)]);
  std::swap(order[1], order[other.below(2)]);
  CHECK(x.order == order);
  CHECK(x.brightness == other.uniform());
  CHECK(x.contrast == other.uniform());
  CHECK(x.saturation == other.uniform());
  CHECK(x.hue == other.uniform(0, 0.5));
}

} // namespace leat::color_jitter_test
