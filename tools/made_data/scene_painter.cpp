#include "tools/made_data/scene_painter.hpp"

#include "tools/made_data/value_noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace leat {

namespace {

/// Lengths inside an object: 1024 is its radius.
constexpr int unit = 1024;

struct color {
  int red = 0;
  int green = 0;
  int blue = 0;
};

int between(rng& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

color jitter(color base, int amount, rng& random) {
  const int light = between(random, -amount, amount);
  return {base.red + light + between(random, -amount, amount),
          base.green + light + between(random, -amount, amount),
          base.blue + light + between(random, -amount, amount)};
}

/// `weight` of b in 1/256.
int mix(int a, int b, int weight) {
  return a + (b - a) * weight / 256;
}

color mix(color a, color b, int weight) {
  return {mix(a.red, b.red, weight), mix(a.green, b.green, weight), mix(a.blue, b.blue, weight)};
}

color scaled(color x, int light) {
  return {x.red * light / 256, x.green * light / 256, x.blue * light / 256};
}

std::uint8_t to_byte(int x) {
  return static_cast<std::uint8_t>(std::clamp(x, 0, 255));
}

void store(color x, std::uint8_t* pixel) {
  pixel[0] = to_byte(x.red);
  pixel[1] = to_byte(x.green);
  pixel[2] = to_byte(x.blue);
}

color load(const std::uint8_t* pixel) {
  return {pixel[0], pixel[1], pixel[2]};
}

// Shapes. Each answers how deep the point (u, v) lies inside, 0 on the outline, negative outside;
// near the outline about 1024 a radius. v grows downwards.

int in_disc(int u, int v) {
  return (unit * unit - u * u - v * v) / (2 * unit);
}
int in_oval(int u, int v) {
  return (unit * unit - u * u - 3 * v * v) / (3 * unit);
}
int in_box(int u, int v) {
  return 800 - std::max(std::abs(u), std::abs(v));
}
int in_diamond(int u, int v) {
  return (unit - std::abs(u) - std::abs(v)) * 3 / 4;
}
int in_triangle(int u, int v) {
  return std::min(700 - v, (v + unit - 2 * std::abs(u)) / 2);
}
int in_ring(int u, int v) {
  return std::min(in_disc(u, v), (u * u + v * v - 560 * 560) / unit);
}
int in_cross(int u, int v) {
  return std::min(unit - std::max(std::abs(u), std::abs(v)),
                  300 - std::min(std::abs(u), std::abs(v)));
}
int in_crescent(int u, int v) {
  return std::min(in_disc(u, v), -in_disc(u - 480, v + 160));
}
int in_star(int u, int v) {
  const int a = std::abs(u);
  const int b = std::abs(v);
  return (1100 - a - b - 2 * std::min(a, b)) / 2;
}
int in_hourglass(int u, int v) {
  return std::min(900 - std::abs(v), std::abs(v) + 120 - std::abs(u));
}

// Patterns on an object. Each answers how light the point is, in 1/256.

int plain(int, int) {
  return 256;
}
int stripes(int u, int) {
  return (u & 256) != 0 ? 290 : 190;
}
int checks(int u, int v) {
  return ((u ^ v) & 256) != 0 ? 290 : 190;
}
int dots(int u, int v) {
  const int a = (u & 511) - 256;
  const int b = (v & 511) - 256;
  return a * a + b * b < 130 * 130 ? 170 : 280;
}
int rings(int u, int v) {
  return ((u * u + v * v) >> 17 & 1) != 0 ? 290 : 200;
}

/// What tells a class. `ground` is where such objects are found: it tints the lower part.
struct look {
  int (*depth)(int u, int v);
  int (*pattern)(int u, int v);
  color paint;
  color ground;
};

constexpr std::array<look, 10> looks{{
    {in_disc, plain, {205, 45, 40}, {96, 128, 70}},
    {in_oval, dots, {235, 205, 60}, {120, 100, 70}},
    {in_box, checks, {60, 90, 190}, {140, 140, 140}},
    {in_diamond, stripes, {70, 190, 200}, {90, 110, 130}},
    {in_triangle, stripes, {60, 150, 70}, {180, 160, 120}},
    {in_ring, plain, {235, 235, 230}, {70, 90, 60}},
    {in_cross, checks, {225, 125, 40}, {90, 80, 100}},
    {in_crescent, dots, {150, 70, 170}, {60, 70, 110}},
    {in_star, rings, {225, 110, 160}, {150, 130, 100}},
    {in_hourglass, rings, {55, 45, 50}, {190, 180, 165}},
}};

constexpr std::array<color, 6> skies{{{110, 160, 220},
                                      {185, 200, 215},
                                      {235, 190, 150},
                                      {150, 150, 160},
                                      {80, 110, 170},
                                      {200, 215, 190}}};

struct aspect {
  int width;
  int height;
};
constexpr std::array<aspect, 8> aspects{
    {{4, 3}, {4, 3}, {3, 2}, {3, 2}, {3, 4}, {2, 3}, {1, 1}, {16, 9}}};

/// About 500 x 375 pixels in area, between 0.75 and 1.25 of it a side.
rgb_image blank_photo(rng& random) {
  const aspect a = aspects[random.below(aspects.size())];
  const int pixels = 500 * 375 * 16 / (a.width * a.height);
  // A square root of a double is exact to the last bit on every machine.
  const int quarter = static_cast<int>(std::sqrt(pixels));
  const int scale = between(random, quarter * 3 / 4, quarter * 5 / 4);
  return {static_cast<std::size_t>(a.width * scale / 4),
          static_cast<std::size_t>(a.height * scale / 4)};
}

/// Colours that change from row to row only.
class backdrop {
public:
  backdrop(color ground, int height, rng& random)
      : zenith_(jitter(skies[random.below(skies.size())], 30, random)),
        haze_(jitter(mix(zenith_, {235, 235, 235}, 120), 15, random)),
        near_(jitter(ground, 35, random)), far_(mix(near_, haze_, 90)),
        horizon_(height * between(random, 20, 60) / 100), height_(height) {}

  color at(int y) const {
    return y < horizon_ ? mix(zenith_, haze_, 256 * y / horizon_)
                        : mix(far_, near_, 256 * (y - horizon_) / (height_ - horizon_));
  }

  /// How strong the texture is, in 1/256: faint in the sky, growing towards the viewer.
  int roughness(int y) const {
    return y < horizon_ ? 50 : 110 + 146 * (y - horizon_) / (height_ - horizon_);
  }

private:
  color zenith_;
  color haze_;
  color near_;
  color far_;
  int horizon_;
  int height_;
};

/// Sum of some layers of noise.
class noise_stack {
public:
  noise_stack(const rgb_image& image, rng& random)
      : width_(static_cast<int>(image.width)), height_(static_cast<int>(image.height)),
        random_(random), row_(image.width) {}

  noise_stack& add(int cell, int amplitude) {
    layers_.emplace_back(width_, height_, cell, amplitude, random_);
    return *this;
  }

  /// Row y, borrowed until the next call.
  std::span<const int> row(int y) {
    std::fill(row_.begin(), row_.end(), 0);
    for (const auto& layer : layers_)
      layer.add_row(y, row_);
    return row_;
  }

private:
  int width_;
  int height_;
  rng& random_;
  std::vector<value_noise> layers_;
  std::vector<int> row_;
};

void paint_backdrop(rgb_image& image, color ground, rng& random) {
  const backdrop colors(ground, static_cast<int>(image.height), random);
  noise_stack texture(image, random);
  texture.add(3, between(random, 16, 52)).add(11, between(random, 10, 30)).add(37, 20);
  noise_stack warmth(image, random);
  warmth.add(130, 30);
  noise_stack light(image, random);
  light.add(170, 45);
  for (std::size_t y = 0; y < image.height; ++y) {
    const auto row = static_cast<int>(y);
    const color base = colors.at(row);
    const int roughness = colors.roughness(row);
    const auto grain = texture.row(row);
    const auto warm = warmth.row(row);
    const auto bright = light.row(row);
    std::uint8_t* pixel = image.row(y);
    for (std::size_t x = 0; x < image.width; ++x, pixel += 3) {
      const int lift = grain[x] * roughness / 256 + bright[x];
      store({base.red + lift + warm[x], base.green + lift, base.blue + lift - warm[x]}, pixel);
    }
  }
}

/// Where an object lies, how it is turned, and how its coordinates follow from pixels.
struct placement {
  int x = 0;
  int y = 0;
  /// In pixels.
  int radius = 1;
  /// Sine of the tilt in 1/4096.
  int tilt = 0;

  /// Steps of (u, v) for one pixel to the right, in 1/65536; one pixel down is the same, turned.
  int along() const {
    return static_cast<int>(std::sqrt(4096 * 4096 - tilt * tilt)) * 16 * unit / radius;
  }
  int across() const { return tilt * 16 * unit / radius; }
};

/// Calls `f(pixel, u, v)` for every pixel that an object can touch.
template <class F>
void for_each_pixel(rgb_image& image, const placement& at, F f) {
  const int reach = at.radius * 3 / 2 + 2;
  const int left = std::max(at.x - reach, 0);
  const int right = std::min(at.x + reach, static_cast<int>(image.width));
  const int top = std::max(at.y - reach, 0);
  const int bottom = std::min(at.y + reach, static_cast<int>(image.height));
  const int along = at.along();
  const int across = at.across();
  for (int y = top; y < bottom; ++y) {
    int u = (left - at.x) * along + (y - at.y) * across;
    int v = (y - at.y) * along - (left - at.x) * across;
    std::uint8_t* pixel = image.row(static_cast<std::size_t>(y)) + left * std::ptrdiff_t{3};
    for (int x = left; x < right; ++x, pixel += 3, u += along, v -= across)
      f(pixel, u >> 16, v >> 16);
  }
}

/// Share of a pixel that an object covers, in 1/256, where its outline is `soft` pixels wide.
int coverage(int depth, int radius, int soft) {
  return std::clamp(128 + depth * radius / (4 * soft), 0, 256);
}

/// Spots out of focus, like leaves and lights far away.
void paint_blurred_spots(rgb_image& image, rng& random) {
  const int count = between(random, 2, 7);
  for (int i = 0; i < count; ++i) {
    const auto width = static_cast<int>(image.width);
    const placement at{.x = between(random, 0, width),
                       .y = between(random, 0, static_cast<int>(image.height)),
                       .radius = between(random, width / 30, width / 9)};
    const color paint = jitter(skies[random.below(skies.size())], 60, random);
    const int soft = between(random, 4, 14);
    const int strength = between(random, 60, 170);
    for_each_pixel(image, at, [&](std::uint8_t* pixel, int u, int v) {
      const int cover = coverage(in_disc(u, v), at.radius, soft);
      store(mix(load(pixel), paint, cover * strength / 256), pixel);
    });
  }
}

placement place_object(const rgb_image& image, rng& random) {
  const auto width = static_cast<int>(image.width);
  const auto height = static_cast<int>(image.height);
  const int side = std::min(width, height);
  return {.x = width * between(random, 35, 65) / 100,
          .y = height * between(random, 38, 68) / 100,
          .radius = side * between(random, 24, 44) / 100,
          .tilt = between(random, -1400, 1400)};
}

void paint_shadow(rgb_image& image, const look& object, placement at, rng& random) {
  at.x += at.radius * between(random, 8, 20) / 100;
  at.y += at.radius * between(random, 8, 20) / 100;
  for_each_pixel(image, at, [&](std::uint8_t* pixel, int u, int v) {
    const int cover = coverage(object.depth(u, v), at.radius, 12);
    store(scaled(load(pixel), 256 - cover * 110 / 256), pixel);
  });
}

/// Lit from the upper left, with a highlight there.
color lit(color paint, int pattern, int u, int v) {
  const int light = std::clamp(256 - (u + v) / 9, 110, 380);
  const int highlight = std::max(in_disc(2 * u + 700, 2 * v + 800), 0) / 6;
  return mix(scaled(paint, pattern * light / 256), {255, 255, 250}, highlight);
}

void paint_object(rgb_image& image, const look& object, rng& random) {
  const placement at = place_object(image, random);
  const color paint = jitter(object.paint, 24, random);
  paint_shadow(image, object, at, random);
  for_each_pixel(image, at, [&](std::uint8_t* pixel, int u, int v) {
    const int cover = coverage(object.depth(u, v), at.radius, 1);
    if (cover > 0)
      store(mix(load(pixel), lit(paint, object.pattern(u, v), u, v), cover), pixel);
  });
}

/// The sensor's noise: one step of a linear congruential generator a pixel.
void add_grain(rgb_image& image, rng& random) {
  const int strength = between(random, 6, 26);
  std::uint32_t state = random();
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    state = state * 1664525U + 1013904223U;
    const int grain = static_cast<int>((state >> 24) + (state >> 16 & 0xff)) - 255;
    const int lift = grain * strength / 256;
    std::uint8_t* pixel = image.pixels.data() + i;
    const color c = load(pixel);
    store({c.red + lift, c.green + lift, c.blue + lift}, pixel);
  }
}

} // namespace

rgb_image paint_scene(std::size_t label, rng& random) {
  const look& object = looks.at(label);
  rgb_image image = blank_photo(random);
  paint_backdrop(image, object.ground, random);
  paint_blurred_spots(image, random);
  paint_object(image, object, random);
  add_grain(image, random);
  return image;
}

} // namespace leat
