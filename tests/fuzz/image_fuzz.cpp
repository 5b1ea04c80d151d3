// Makes pixels from any bytes in all ways: all give the same ones, or all call the file bad for the
// same cause.
#include "tests/support/image_ways.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace leat;
using namespace leat::test;

namespace {

constexpr std::size_t max_pixels = std::size_t{1} << 16; // keeps a run fast

std::uint32_t hash(std::span<const std::byte> bytes) {
  std::uint32_t sum = 2166136261U;
  for (const auto x : bytes)
    sum = (sum ^ std::to_integer<std::uint32_t>(x)) * 16777619U;
  return sum;
}

void choose(std::size_t extent, std::mt19937& random, std::size_t& begin, std::size_t& size) {
  size = 1 + random() % extent;
  begin = random() % (extent - size + 1);
}

resize_plan random_plan(const image_size& image, std::mt19937& random) {
  resize_plan x;
  choose(image.width, random, x.source.x, x.source.width);
  choose(image.height, random, x.source.y, x.source.height);
  x.resized = {1 + random() % 40, 1 + random() % 40};
  choose(x.resized.width, random, x.window.x, x.window.width);
  choose(x.resized.height, random, x.window.y, x.window.height);
  x.mirrored = random() % 2 == 0;
  return x;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static image_ways ways(max_pixels);
  static image_reader reader;
  const auto file = std::as_bytes(std::span{data, size});
  std::mt19937 random(hash(file));
  try {
    const auto image = reader.open(file, max_pixels);
    const auto places = ways.survey(file);
    for (int i = 0; i < 2; ++i) {
      const auto plan = random_plan(image, random);
      const tensor_form form{.type = i == 0 ? dtype::u8 : dtype::f32,
                             .layout = random() % 2 == 0 ? image_layout::nchw : image_layout::nhwc};
      image_outcome first;
      const auto names = ways.differing_if_damaged(file, plan, form, places, first);
      if (names.empty())
        continue;
      std::fprintf(stderr, "%s%s\nsource %zu,%zu %zux%zu of %zux%zu\n", names.c_str(),
                   first.text.c_str(), plan.source.x, plan.source.y, plan.source.width,
                   plan.source.height, image.width, image.height);
      std::abort();
    }
  } catch (const bad_sample&) {
    // What most bytes are.
  }
  return 0;
}
