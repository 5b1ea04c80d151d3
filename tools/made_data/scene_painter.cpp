#include "tools/made_data/scene_painter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace leat {

namespace {

/// Lengths inside a shape: 1024 is its radius.
constexpr int unit = 1024;

struct color {
  int red = 0;
  int green = 0;
  int blue = 0;
};

int between(rng& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low) + 1));
}

color jitter(color x, int amount, rng& random) {
  for (int* part : {&x.red, &x.green, &x.blue})
    *part += between(random, -amount, amount);
  return x;
}

/// `weight` of b in 1/256.
int mix(int a, int b, int weight) {
  return a + (b - a) * weight / 256;
}

color mix(color a, color b, int weight) {
  return {mix(a.red, b.red, weight), mix(a.green, b.green, weight), mix(a.blue, b.blue, weight)};
}

int in_disc(int u, int v) {
  return (unit * unit - u * u - v * v) / (2 * unit);
}

/// What tells a class. `depth`: how deep the point (u, v) lies inside, 0 on the outline, negative
/// outside; near the outline about 1024 per radius. v grows downwards.
struct shape {
  color paint;
  int (*depth)(int u, int v);
};

using std::abs;
using std::max;
using std::min;
constexpr std::array<shape, 10> shapes{{
    {{205, 45, 40}, in_disc},
    {{235, 205, 60}, [](int u, int v) { return (unit * unit - u * u - 3 * v * v) / (3 * unit); }},
    {{60, 90, 190}, [](int u, int v) { return 800 - max(abs(u), abs(v)); }},
    {{70, 190, 200}, [](int u, int v) { return (unit - abs(u) - abs(v)) * 3 / 4; }},
    {{60, 150, 70}, [](int u, int v) { return min(700 - v, (v + unit - 2 * abs(u)) / 2); }},
    {{235, 235, 230}, [](int u, int v) { return min(in_disc(u, v), 360 - in_disc(u, v)); }},
    {{225, 125, 40},
     [](int u, int v) { return min(unit - max(abs(u), abs(v)), 300 - min(abs(u), abs(v))); }},
    {{150, 70, 170}, [](int u, int v) { return min(in_disc(u, v), -in_disc(u - 480, v + 160)); }},
    {{225, 110, 160},
     [](int u, int v) { return (1100 - abs(u) - abs(v) - 2 * min(abs(u), abs(v))) / 2; }},
    {{55, 45, 50}, [](int u, int v) { return min(900 - abs(v), abs(v) + 120 - abs(u)); }},
}};

/// Smooth random hills: heights at the corners of square cells, blended in between.
class hills {
public:
  /// Cells have sides of 2^`bits` pixels. Heights lie in [-amplitude, amplitude].
  hills(const rgb_image& image, int bits, int amplitude, rng& random)
      : bits_(bits), columns_(static_cast<int>(image.width >> bits) + 2),
        heights_(static_cast<std::size_t>(columns_) * ((image.height >> bits) + 2)) {
    for (int& height : heights_)
      height = between(random, -amplitude, amplitude);
  }

  int at(int x, int y) const {
    const int side = 1 << bits_;
    const int* above = heights_.data() + std::ptrdiff_t{y >> bits_} * columns_ + (x >> bits_);
    const int* below = above + columns_;
    const int right = x & (side - 1);
    const int down = y & (side - 1);
    const int high = above[0] * (side - right) + above[1] * right;
    const int low = below[0] * (side - right) + below[1] * right;
    return (high * (side - down) + low * down) >> 2 * bits_;
  }

private:
  int bits_;
  int columns_;
  std::vector<int> heights_;
};

/// 490 x 390 pixels on average, mostly wider than high.
rgb_image blank_photo(rng& random) {
  const int longer = between(random, 420, 565);
  const int shorter = longer * between(random, 60, 100) / 100;
  const bool upright = random.below(4) == 0;
  return {static_cast<std::size_t>(upright ? shorter : longer),
          static_cast<std::size_t>(upright ? longer : shorter)};
}

/// Where a shape lies and how it is turned: (u, v) of a pixel.
struct placement {
  placement(int width, int height, rng& random)
      : x(width * between(random, 35, 65) / 100), y(height * between(random, 38, 68) / 100),
        radius(min(width, height) * between(random, 24, 44) / 100) {
    const int tilt = between(random, -1400, 1400); // its sine in 1/4096
    // A square root of a double is exact to the last bit on every machine.
    along = static_cast<int>(std::sqrt(4096 * 4096 - tilt * tilt)) * 16 * unit / radius;
    across = tilt * 16 * unit / radius;
  }

  int x;
  int y;
  int radius;
  /// Steps of (u, v) for one pixel to the right, in 1/65536; one pixel down is the same, turned.
  int along;
  int across;
};

} // namespace

rgb_image paint_scene(std::size_t label, rng& random) {
  rgb_image image = blank_photo(random);
  const auto width = static_cast<int>(image.width);
  const auto height = static_cast<int>(image.height);
  const shape& object = shapes.at(label);
  const color paint = jitter(object.paint, 30, random);
  const color sky = jitter({150, 170, 195}, 60, random);
  const color ground = jitter({120, 115, 95}, 60, random);
  const placement at(width, height, random);
  const hills texture(image, 2, between(random, 10, 50), random);
  const hills light(image, 5, 45, random);
  const hills warmth(image, 7, 30, random);
  const int grain = between(random, 6, 28);
  std::uint32_t state = random(); // of a linear congruential generator, a step per pixel
  for (int y = 0; y < height; ++y) {
    std::uint8_t* pixel = image.row(static_cast<std::size_t>(y));
    const color behind = mix(sky, ground, 256 * y / height);
    for (int x = 0; x < width; ++x, pixel += 3) {
      const int u = ((x - at.x) * at.along + (y - at.y) * at.across) >> 16;
      const int v = ((y - at.y) * at.along - (x - at.x) * at.across) >> 16;
      const int covered = std::clamp(128 + object.depth(u, v) * at.radius / 4, 0, 256);
      const color seen = mix(behind, paint, covered);
      state = state * 1664525U + 1013904223U;
      const int noise =
          (static_cast<int>((state >> 24) + (state >> 16 & 0xff)) - 255) * grain / 256;
      const int lift = noise + light.at(x, y) + texture.at(x, y) * (64 + 192 * y / height) / 256;
      const int warm = warmth.at(x, y);
      pixel[0] = static_cast<std::uint8_t>(std::clamp(seen.red + lift + warm, 0, 255));
      pixel[1] = static_cast<std::uint8_t>(std::clamp(seen.green + lift, 0, 255));
      pixel[2] = static_cast<std::uint8_t>(std::clamp(seen.blue + lift - warm, 0, 255));
    }
  }
  return image;
}

} // namespace leat
