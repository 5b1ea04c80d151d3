#include "runtime/image/pixels/pad_image.hpp"
#include "tests/support/catch.hpp"

#include <limits>
#include <numeric>
#include <vector>

namespace leat::pad_image_test {
namespace {

/// 0, 1, 2, ... over all planes.
std::vector<float> counted(const image_size& size) {
  std::vector<float> values(3 * size.width * size.height);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::vector<float> padded(std::vector<float> values, const image_size& size, const padding& pad) {
  const auto larger = padded_size(size, pad);
  std::vector<float> result(3 * larger.width * larger.height,
                            std::numeric_limits<float>::quiet_NaN());
  pad_image({values.data(), size.width, size.height}, pad,
            {result.data(), larger.width, larger.height});
  return result;
}

std::vector<float> first_plane(const std::vector<float>& values) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 3)};
}

/// Steps from pixel to pixel until `at` lies within 0 .. size-1.
int naive(int at, int size, pad_mode mode) {
  if (mode == pad_mode::edge)
    return at < 0 ? 0 : at >= size ? size - 1 : at;
  const int mirrored_once = mode == pad_mode::reflect ? 0 : 1;
  if (at < 0)
    return -at - mirrored_once;
  if (at >= size)
    return 2 * size - 2 - at + mirrored_once;
  return at;
}

float naive_value(const image_size& size, const padding& pad, std::size_t c, int x, int y) {
  const auto width = static_cast<int>(size.width);
  const auto height = static_cast<int>(size.height);
  const bool inside = x >= 0 && x < width && y >= 0 && y < height;
  if (pad.mode == pad_mode::constant && !inside)
    return pad.fill[c];
  if (!inside) {
    x = naive(x, width, pad.mode);
    y = naive(y, height, pad.mode);
  }
  return static_cast<float>((static_cast<int>(c) * height + y) * width + x);
}

int count_wrong(const image_size& size, const padding& pad) {
  const auto got = padded(counted(size), size, pad);
  const auto larger = padded_size(size, pad);
  int wrong = 0;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < larger.height; ++y)
      for (std::size_t x = 0; x < larger.width; ++x) {
        const float expected =
            naive_value(size, pad, c, static_cast<int>(x) - static_cast<int>(pad.left),
                        static_cast<int>(y) - static_cast<int>(pad.top));
        wrong += got[(c * larger.height + y) * larger.width + x] == expected ? 0 : 1;
      }
  return wrong;
}

constexpr pad_mode all_modes[] = {pad_mode::constant, pad_mode::edge, pad_mode::reflect,
                                  pad_mode::symmetric};

} // namespace

// torchvision 0.28: F.pad(torch.arange(6.).reshape(1, 2, 3), [2, 1, 1, 1], padding_mode=mode)
TEST_CASE("the modes of padding are torchvision's") {
  const image_size size{3, 2};
  padding pad{.left = 2, .top = 1, .right = 1, .bottom = 1};
  const auto check = [&](pad_mode mode, const std::vector<float>& expected) {
    CAPTURE(static_cast<int>(mode));
    pad.mode = mode;
    CHECK(first_plane(padded(counted(size), size, pad)) == expected);
  };
  check(pad_mode::edge, {0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5, 3, 3, 3, 4, 5, 5});
  check(pad_mode::reflect,
        {5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1});
  check(pad_mode::symmetric,
        {1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 4, 3, 3, 4, 5, 5, 4, 3, 3, 4, 5, 5});
}

TEST_CASE("a constant fills each channel with its own value") {
  const padding pad{.left = 1, .fill = {0.25F, 0.5F, 0.75F}};
  CHECK(padded({9, 8, 7}, {1, 1}, pad) == std::vector<float>{0.25F, 9, 0.5F, 8, 0.75F, 7});
}

TEST_CASE("every padded pixel is the one that a plain definition names") {
  for (const auto mode : all_modes)
    for (const image_size size : {image_size{1, 1}, {4, 1}, {1, 3}, {3, 4}, {5, 5}})
      for (std::size_t sides = 0; sides < 256; ++sides) {
        const padding pad{sides % 4,      sides / 4 % 4, sides / 16 % 4,
                          sides / 64 % 4, mode,          {-1, -2, -3}};
        if (!can_pad(size, pad))
          continue;
        CAPTURE(static_cast<int>(mode), size.width, size.height, sides);
        CHECK(count_wrong(size, pad) == 0);
      }
}

TEST_CASE("a mirror shows no more than the image has") {
  const image_size size{3, 2};
  for (const auto mode : {pad_mode::constant, pad_mode::edge})
    CHECK(can_pad(size, {1000, 1000, 1000, 1000, mode, {}}));
  for (const auto& [mode, across, down] :
       {std::tuple{pad_mode::reflect, 2UL, 1UL}, {pad_mode::symmetric, 3UL, 2UL}}) {
    CAPTURE(static_cast<int>(mode));
    CHECK(can_pad(size, {across, down, across, down, mode, {}}));
    CHECK_FALSE(can_pad(size, {across + 1, 0, 0, 0, mode, {}}));
    CHECK_FALSE(can_pad(size, {0, down + 1, 0, 0, mode, {}}));
    CHECK_FALSE(can_pad(size, {0, 0, across + 1, 0, mode, {}}));
    CHECK_FALSE(can_pad(size, {0, 0, 0, down + 1, mode, {}}));
  }
}

} // namespace leat::pad_image_test
